"""A workgroup of one invocation: all other lanes of its subgroup are inactive."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Square numbers, each in a workgroup of its own."""
    values = host.rng().integers(0, 2**16, 100).astype(np.uint32)
    found = device.run(
        host.FOLDER / "small_workgroup.comp", 100, {"values": values, "squares": np.zeros(100, np.uint32)}
    )
    host.check("squares", found["squares"], values**2)
    return f"100 squares, at {100 / device.capabilities.subgroup.size:.1f}% of capacity"
