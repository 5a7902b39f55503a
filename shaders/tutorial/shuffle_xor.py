"""The xor butterfly: a reduction of one's own, by trading values with ever farther lanes."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Draw, and repeat the reduction on each subgroup's values."""
    random, size = host.rng(), device.capabilities.subgroup.size
    values = {
        "x": (1 + 0.1 * random.random((3, 4))).astype(np.float32),
        "additive": np.full(3, 0.5, np.float32),
    }
    found = device.draw(host.FOLDER / "shuffle_xor.frag", (16, 8), vertices=values)
    added = found["added"].reshape(-1, 1)

    def multiply(fragments: host.Fragments, step: int, members: host.Array, lanes: host.Array) -> None:
        addend = np.zeros((size, 1))
        addend[lanes] = added[members]
        fragments.multiply(np.arange(size) ^ step, np.ones(size, np.bool_), addend)

    defined = host.check_products(found, size, 1, multiply)
    return f"{defined} of {16 * 8} fragments reduced over {size} lanes"
