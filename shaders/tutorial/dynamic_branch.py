"""Dynamic branching: negative values go one way, the others the other."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Branch on whole numbers, which floats hold exactly."""
    x = host.rng().integers(-999, 999, 4 * host.LOCAL).astype(np.float32)
    found = device.run(host.FOLDER / "dynamic_branch.comp", 4, {"values": x, "results": np.zeros_like(x)})
    host.check("results", found["results"], np.where(x < 0, 42 - x, x - 13))
    return f"{int((x < 0).sum())} of {len(x)} invocations took the first branch"
