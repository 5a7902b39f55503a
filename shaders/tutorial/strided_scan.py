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
    data, given = (found[name].reshape(-1, 4) for name in ("data", "given"))
    wanted, bound = np.zeros(data.shape), np.zeros(data.shape)
    defined = np.zeros(len(data), np.bool_)
    lane = np.arange(size)
    for members, lanes in host.subgroups(found["lane"].reshape(-1, 2)):
        fragments = host.Fragments(size, lanes, given[members])
        step = 2
        while step < size:
            fragments.multiply(lane - step, lane >= step)
            step *= 2
        wanted[members] = fragments.value[lanes]
        bound[members] = (fragments.value * fragments.error)[lanes]
        defined[members] = fragments.defined[lanes]
    host.check("data", data, wanted, bound, defined[:, None])
    return f"{int(defined.sum())} of {len(data)} fragments scanned"
