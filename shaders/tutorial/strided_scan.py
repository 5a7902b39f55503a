"""The strided scan: even lanes multiply with even ones, odd lanes with odd ones."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Draw, and repeat the scan on each subgroup's values."""
    size = device.capabilities.subgroup.size
    x = (0.9 + 0.2 * host.rng().random((3, 4))).astype(np.float32)
    found = device.draw(host.FOLDER / "strided_scan.frag", (16, 8), vertices={"x": x})
    lane = np.arange(size)

    def multiply(fragments: host.Fragments, step: int, *_: host.Array) -> None:
        fragments.multiply(lane - step, lane >= step)

    defined = host.check_products(found, size, 2, multiply)
    return f"{defined} of {16 * 8} fragments scanned"
