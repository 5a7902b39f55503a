"""Elect and broadcast first: one invocation looks a value up, and tells the others."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Check that all of a subgroup have what its first invocation looked up."""
    foo = host.rng().normal(size=(97, 4)).astype(np.float32)
    results = np.zeros((4 * host.LOCAL, 4), np.float32)
    bindings = {"foo": foo, "results": results, "layout_lanes": host.lanes()}
    found = device.run(host.FOLDER / "broadcast_first.comp", 4, bindings)
    wanted, total = np.zeros_like(results), 0
    for members, _ in host.workgroup_subgroups(found["layout_lanes"]):
        wanted[members] = foo[(int(members[0]) * 2654435761 % 2**32 >> 7) % len(foo)]
        total += 1
    host.check("results", found["results"], wanted)
    return f"{total} subgroups, each with one look-up"
