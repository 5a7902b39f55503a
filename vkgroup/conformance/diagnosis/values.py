"""Diagnosis of wrong elements outside of subgroup operations, such as words of a buffer or pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkgroup.conformance.arrays import POISON
from vkgroup.conformance.comparison import JudgedValues


def diagnose_values(values: JudgedValues) -> dict[str, Any]:
    """Return the diagnosis of wrong elements; see `vkgroup.conformance.diagnosis.diagnose`."""
    got, expected, wrong = values.got, values.expected, values.wrong
    right = np.broadcast_to(expected.defined, wrong.shape) & ~wrong
    hypotheses = dict(values.alternatives)
    if got.dtype == np.uint32:
        sentence = "nothing is written: the output keeps its fill pattern"
        hypotheses["unwritten"] = sentence, np.asarray(got == POISON)
        hypotheses["zero"] = "the result is zero", np.asarray(got == 0)
    rows = []
    for name, (sentence, agrees) in hypotheses.items():
        matched = int((agrees & wrong).sum())
        if matched:
            row = {"name": name, "variant": "", "sentence": sentence, "matched": matched, "open": 0}
            rows.append(row | {"contradicted": int((~agrees & right).sum())})
    total = int(wrong.sum())
    complete = [row for row in rows if row["matched"] == total]
    complete.sort(key=lambda row: int(str(row["contradicted"])))
    partial = sorted(rows, key=lambda row: -int(str(row["matched"])))
    return {
        "kind": "values",
        "wrong": total,
        "right": int(right.sum()),
        "hypotheses": complete or partial[:1],
        "common": [],
    }
