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
    data, given = (found[name].reshape(-1, 4) for name in ("data", "given"))
    added = found["added"].reshape(-1, 1)
    wanted, bound = np.zeros(data.shape), np.zeros(data.shape)
    defined = np.zeros(len(data), np.bool_)
    for members, lanes in host.subgroups(found["lane"].reshape(-1, 2)):
        fragments = host.Fragments(size, lanes, given[members])
        addend = np.zeros((size, 1))
        addend[lanes] = added[members]
        step = 1
        while step < size:
            fragments.multiply(np.arange(size) ^ step, np.ones(size, np.bool_), addend)
            step *= 2
        wanted[members] = fragments.value[lanes]
        bound[members] = (fragments.value * fragments.error)[lanes]
        defined[members] = fragments.defined[lanes]
    host.check("data", data, wanted, bound, defined[:, None])
    return f"{int(defined.sum())} of {len(data)} fragments reduced over {size} lanes"
