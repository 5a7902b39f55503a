"""Diagnosis of wrong active masks, and of wrong numbers of subgroups and lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.instances import LayoutFault, MaskFault, PathFault, unpack

SENTENCES = {
    "no_invocation": "lanes without an invocation count as active",
    "inactive": "lanes that do not execute the code count as active",
    "missing": "lanes that execute the code do not count as active",
    "linear_subgroups": "gl_SubgroupID counts subgroups along the linear index; lanes are numbered otherwise",
    "lanes_repeat": "several invocations of a subgroup have the same gl_SubgroupInvocationID",
    "another_size": "gl_SubgroupSize is not the declared size",
    "another_path": "an invocation takes another path than required",
}
"""Hypotheses about masks and numbers: a name, and a sentence about the device."""


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


def diagnose_layout(fault: LayoutFault) -> dict[str, Any]:
    """Return the diagnosis of invocations whose subgroup, lane or size cannot be right.

    Invocations are wrong that share subgroup and lane with another one, that have another size than the
    declared one, or whose lane is beyond it.
    """
    records, size = fault.invocations, fault.size
    keys = np.column_stack([records.group, records.subgroup, records.lane])
    _, kind, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    shared = counts[kind.ravel()] > 1
    other_size = np.asarray(records.size != size)
    wrong = shared | other_size | (records.lane >= size)
    linear = records.subgroup == records.index % fault.group_places // size
    kinds = {
        "linear_subgroups": np.asarray(linear & shared) if linear.all() else np.zeros_like(shared),
        "lanes_repeat": shared,
        "another_size": other_size,
    }
    total = int(wrong.sum())
    rows = [
        {
            "name": name,
            "variant": "",
            "sentence": SENTENCES[name],
            "matched": matched,
            "open": 0,
            "contradicted": 0,
        }
        for name, lanes in kinds.items()
        if (matched := int((lanes & wrong).sum()))
    ]
    complete = [row for row in rows if row["matched"] == total]
    return {
        "kind": "layout",
        "wrong": total,
        "right": len(wrong) - total,
        "hypotheses": complete or rows[:1],
        "common": [],
    }


def diagnose_paths(fault: PathFault) -> dict[str, Any]:
    """Return the diagnosis of operations that invocations execute although they must not, or the reverse."""
    row: dict[str, Any] = {"name": "another_path", "variant": "", "sentence": SENTENCES["another_path"]}
    row |= {"matched": fault.wrong, "open": 0, "contradicted": 0}
    return {
        "kind": "path", "wrong": fault.wrong, "right": fault.right, "hypotheses": [row], "common": [],
    }  # fmt: skip
