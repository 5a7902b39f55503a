"""Diagnosis of active masks that do not name exactly the invocations that executed together."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.instances import MaskFault, unpack

SENTENCES = {
    "no_invocation": "lanes without an invocation count as active",
    "inactive": "lanes that do not execute the code count as active",
    "missing": "lanes that execute the code do not count as active",
}
"""Hypotheses about wrong masks: a name, and a sentence about the device."""


def diagnose_masks(fault: MaskFault) -> dict[str, Any]:
    """Return the diagnosis of wrong active masks; see `vkgroup.conformance.diagnosis.diagnose`.

    A lane is wrong if it is in the mask and does not execute the code with the others, or the reverse.
    """
    size = fault.size
    mask, reported, unseen = (unpack(words, size) for words in (fault.mask, fault.reported, fault.unseen))
    extra, missing = mask & ~reported & ~unseen, reported & ~mask
    exists = _existing(fault)
    kinds: dict[str, Flags] = {
        "no_invocation": extra & ~exists,
        "inactive": extra & exists,
        "missing": missing,
    }
    wrong = extra | missing
    total = int(wrong.sum())
    hypotheses = [
        {
            "name": name,
            "variant": "",
            "sentence": SENTENCES[name],
            "matched": int(lanes.sum()),
            "open": 0,
            # A right lane to which the hypothesis would apply as well.
            "contradicted": int((~exists & ~mask & ~unseen).sum()) if name == "no_invocation" else 0,
        }
        for name, lanes in kinds.items()
        if lanes.any()
    ]
    hypotheses.sort(key=lambda row: -int(str(row["matched"])))
    complete = [row for row in hypotheses if row["matched"] == total]
    return {
        "kind": "mask",
        "wrong": total,
        "right": int((~wrong & ~unseen).sum()),
        "hypotheses": complete or hypotheses[:1],
        "common": [],
    }


def _existing(fault: MaskFault) -> Flags:
    """Return which lanes of each row's subgroup have an invocation, (rows, size)."""
    lanes: dict[tuple[int, int], list[int]] = {}
    for group, subgroup, lane in fault.invocations.tolist():
        lanes.setdefault((group, subgroup), []).append(lane)
    exists = np.zeros((len(fault.subgroups), fault.size), np.bool_)
    for row, (group, subgroup) in enumerate(fault.subgroups.tolist()):
        exists[row, lanes[group, subgroup]] = True
    return exists
