"""The reverse scan: from the highest lane of the subgroup to the lowest."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Draw, and repeat the scan on each subgroup's values."""
    size = device.capabilities.subgroup.size
    x = (0.9 + 0.2 * host.rng().random((3, 4))).astype(np.float32)
    found = device.draw(host.FOLDER / "reverse_scan.frag", (16, 8), vertices={"x": x})
    lane = np.arange(size)

    def multiply(fragments: host.Fragments, step: int, *_: host.Array) -> None:
        fragments.multiply(lane + step, size - step > lane)

    defined = host.check_products(found, size, 1, multiply)
    return f"{defined} of {16 * 8} fragments scanned"
