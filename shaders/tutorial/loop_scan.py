"""Both loop scans: what inclusive and exclusive scans are, written as loops."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Sum whole numbers, whose sums are exact, in both variants of the shader."""
    foo = host.rng().integers(-99, 99, 5 * host.LOCAL).astype(np.float32)
    before = np.concatenate([[0], np.cumsum(foo)])
    for inclusive in (0, 1):
        defines = {"INCLUSIVE_SCAN": 1} if inclusive else {}
        module = device.compile(host.FOLDER / "loop_scan.comp", defines=defines)
        results = np.zeros(4 * host.LOCAL, np.float32)
        bindings = {"foo": foo, "results": results, "layout_lanes": host.lanes()}
        found = device.run(module, 4, bindings)
        wanted = np.zeros_like(results)
        for members, lanes in host.workgroup_subgroups(found["layout_lanes"]):
            start = members[0]
            wanted[members] = before[start + lanes + inclusive] - before[start]
        host.check("the inclusive scan" if inclusive else "the exclusive scan", found["results"], wanted)
    return "inclusive and exclusive scans of 512 values"
