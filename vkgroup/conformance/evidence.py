"""The lanes of one subgroup in which a case failed, as JSON data that a report can draw.

::

    {"where": "workgroup 2 subgroup 3", "slot": 0, "size": 4, "active": "0xf", "wrong": [0, 2],
     "rows": {"input": ["1", "2", "3", "4"], "expected": ["True", null, "True", "True"], "got": [...]}}

``active`` and ``wrong`` are who executed the operation and whose result is illegal. Each row has a text for
each lane; None where the lane recorded nothing or, of ``expected``, where any value is legal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


def of_subgroup(
    where: str,
    slot: int,
    active: Flags,
    recorded: Flags,
    wrong: Flags,
    rows: dict[str, list[str | None]],
) -> dict[str, Any]:
    """Return the evidence of one dynamic instance.

    Parameters
    ----------
    where : the subgroup, in words.
    slot : which of the places in the shader that have the operation.
    active, recorded, wrong : (size,) lanes that executed it, that left a result, and whose result is illegal.
    rows : ``input``, ``operand``, ``expected`` and ``got``: (size,) texts each.
    """
    return {
        "where": where,
        "slot": slot,
        "size": len(active),
        "active": hex(sum(1 << lane for lane in np.flatnonzero(active).tolist())),
        "wrong": np.flatnonzero(wrong).tolist(),
        "rows": {
            name: [text if kept else None for text, kept in zip(texts, recorded.tolist(), strict=True)]
            for name, texts in rows.items()
        },
    }
