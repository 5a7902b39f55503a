"""Reductions: each subgroup's sum, in all of its invocations."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Sum ones: then each sum is the number of active invocations, whatever subgroups are made of."""
    ones = np.ones(4 * host.LOCAL, np.uint32)
    found = device.run(host.FOLDER / "sum.comp", 4, {"values": ones, "sums": np.zeros_like(ones)})["sums"]
    size = device.capabilities.subgroup.size
    values, counts = np.unique(found, return_counts=True)
    host.check("sums of whole subgroups", counts % values, np.zeros_like(counts))
    host.check("sums up to the size", values <= size, np.ones_like(values, np.bool_))
    return f"sums of {int(values.max())} ones"
