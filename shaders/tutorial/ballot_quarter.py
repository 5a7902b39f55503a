"""The quarter ballot: a subgroup does x if at least a quarter of it wants that."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Count each subgroup's ballot again, and see that it did as a whole what the ballot says."""
    foo, bar = host.foo_and_bar()
    bindings = {"foo": foo, "bar": bar, "results": np.zeros_like(foo), "subgroups": host.lanes()}
    found = device.run(host.FOLDER / "ballot_quarter.comp", 4, bindings)
    size = found["subgroups"][:, 1]
    wanted, total = foo + bar, 0
    groups = np.column_stack([found["subgroups"][:, 0], np.arange(len(foo))])
    for members, _ in host.workgroup_subgroups(groups):
        if 4 * int((foo[members] < bar[members]).sum()) >= size[members[0]]:
            wanted[members] = 2 * foo[members]
            total += 1
    host.check("results", found["results"], wanted)
    return f"{total} subgroups did x"
