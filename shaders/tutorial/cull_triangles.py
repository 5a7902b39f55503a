"""Triangle culling: keep the triangles that face the viewer, packed together."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Cull triangles with corners of whole numbers, whose areas are exact; some have none."""
    corners = host.rng().integers(-50, 50, (2 * host.LOCAL, 3, 5)).astype(np.float32)
    corners[::10, 2] = corners[::10, 1]
    room = np.zeros(4 + corners.nbytes, np.uint8)  # a count, and place for all
    bindings = {"in_triangles": corners.reshape(-1, 5), "layout_out_triangles": room}
    found = device.run(host.FOLDER / "cull_triangles.comp", 2, bindings)["layout_out_triangles"]
    edges = corners[:, 1:, :2] - corners[:, :1, :2]
    area = edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 1, 0] * edges[:, 0, 1]
    kept = corners[area > 0].reshape(-1, 15)
    host.check("out_triangles_size", found[:4].view(np.uint32), [3 * len(kept)])
    packed = found[4:].view(np.float32).reshape(-1, 15)
    host.check("out_triangles, in any order", _sorted(packed[: len(kept)]), _sorted(kept))
    host.check("the room behind them", packed[len(kept) :], np.zeros_like(packed[len(kept) :]))
    return f"kept {len(kept)} of {len(corners)} triangles"


def _sorted(rows: host.Array) -> host.Array:
    return rows[np.lexsort(rows.T)]
