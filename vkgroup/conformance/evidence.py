"""Evidence of a failure: the lanes of one subgroup as JSON data, which a report can draw.

::

    {"where": "workgroup 2 subgroup 3", "slot": 0, "size": 4, "active": "0xf", "wrong": [0, 2],
     "rows": {"input": ["1", "2", "3", "4"], "expected": ["True", null, "True", "True"], "got": [...]},
     "masks": [{"name": "expected", "mask": "0xf", "wrong": "0x0"}, {"name": "got by lane 0", ...}],
     "code": "subgroupAll(value)"}

``active`` has the lanes that executed the operation, or is null where that was not recorded; ``wrong`` has
the lanes with an illegal result. Each row has a text for each lane: None where the lane recorded nothing
and, in ``expected``, where any value is legal. ``expected`` and ``got`` are compared; ``hypothesis`` has what
the hypothesis that explains the case predicts (`vkgroup.conformance.diagnosis`); other rows describe the
lane.

Optional keys: ``masks``, sets of lanes to compare with each other; ``code``, a text in the shader's line with
the operation; ``unit`` and ``names``, the kind and the names of the cells where they are not lanes from 0 on.

A failure has the evidence of one subgroup, or of `WINDOW` values, because results are read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.base.numbers import shortest
from vkgroup.conformance.arrays import Flags, Indices
from vkgroup.spec.limits import SUBGROUP_SIZES

WINDOW = 16
"""Number of values that are shown around the first wrong value of an array."""

MOST_LANES = SUBGROUP_SIZES[-1]
"""Maximum number of lanes in a subgroup."""

MOST_MASKS = 8
"""Maximum number of different masks of one subgroup that are shown."""


class Fault(NamedTuple):
    """A fault: its description, and the lanes of one subgroup if it concerns lanes."""

    words: str
    lanes: dict[str, Any] | None = None


def of_lanes(
    where: str,
    lane: Indices,
    wrong: Flags,
    rows: Mapping[str, Iterable[str | None]],
    *,
    size: int,
    active: Flags | None = None,
    slot: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """Return the evidence for records of lanes of one subgroup: their texts (`rows`) and which are illegal.

    All arrays are (records,), except `active`, which is (size,), or None if it was not recorded. Only the
    first record of a lane counts; records of other subgroups' lanes are left out. `more` has ``masks``,
    ``code``, ``unit`` and ``names`` (see the module); empty values are left out.
    """
    size = min(size, MOST_LANES)
    placed: dict[str, list[str | None]] = {name: [None] * size for name in rows}
    for name, texts in rows.items():
        for at, text in reversed(list(zip(lane.tolist(), texts, strict=True))):
            if at < size:
                placed[name][at] = text
    return {
        "where": where,
        "slot": slot,
        "size": size,
        "active": None if active is None else hex_of(active),
        "wrong": np.unique(lane[wrong & (lane < size)]).tolist(),
        "rows": placed,
        **{name: value for name, value in more.items() if value},
    }


def of_values(
    where: str, rows: Mapping[str, NDArray[Any]], wrong: Flags, axes: Sequence[str] = (), code: str = ""
) -> dict[str, Any]:
    """Return the evidence of arrays that belong to no subgroup: the values around the first wrong one.

    `rows` has arrays by name, among them ``expected`` and ``got``, shaped like `wrong`. `axes` names what the
    axes count. `code` is text in the shader's line that computes the values.
    """
    while wrong.ndim > 1 and wrong.shape[-1] == 1:
        wrong, rows = wrong[..., 0], {name: array[..., 0] for name, array in rows.items()}
    *row, at = np.argwhere(wrong)[0].tolist()
    names = [axes[axis] if axis < len(axes) else f"axis {axis}" for axis in range(wrong.ndim)]
    if not axes and wrong.ndim == 1:
        names = ["element"]
    first = at // WINDOW * WINDOW
    last = min(first + WINDOW, wrong.shape[-1])
    cells = (*row, slice(first, last))
    place = " ".join(f"{name} {number}" for name, number in zip(names, row, strict=False))
    return of_lanes(
        ", ".join(filter(None, (where, place))),
        np.arange(last - first),
        wrong[cells],
        {name: [text_of(value) for value in array[cells]] for name, array in rows.items()},
        size=last - first,
        unit=names[-1],
        names=[str(number) for number in range(first, last)],
        code=code,
    )


def together(wrong: Flags, *keys: NDArray[Any]) -> Indices:
    """Return the numbers of the records that have the same keys, (records,) each, as the first wrong one."""
    first = int(np.flatnonzero(wrong)[0])
    return np.flatnonzero(np.all([key == key[first] for key in keys], axis=0))


def mask_of(name: str, lanes: Flags, wrong: Flags | None = None) -> dict[str, str]:
    """Return a set of lanes, (size,), as JSON data, with the lanes that are wrongly in it or missing."""
    bad = np.zeros_like(lanes) if wrong is None else wrong
    return {"name": name, "mask": hex_of(lanes), "wrong": hex_of(bad)}


def masks_of(
    lane: Indices, got: Flags, least: Flags, most: Flags, *, told: bool = True
) -> list[dict[str, str]]:
    """Return the masks of a subgroup's lanes without duplicates, (records, size), after the expected mask.

    `least` and `most` hold the lanes that a mask must and may name. Without `told`, the expected mask is left
    out.
    """
    exact = bool((least == most).all())
    if told and (most == most[0]).all() and (least == least[0]).all():
        masks = [mask_of("expected" if exact else "at most", most[0])]
        masks += [] if exact else [mask_of("at least", least[0])]
    else:
        masks = []
    _, first, kind = np.unique(got, axis=0, return_index=True, return_inverse=True)
    for number in np.argsort(first)[:MOST_MASKS].tolist():
        those = kind.ravel() == number
        wrong = np.any(got[those] & ~most[those] | least[those] & ~got[those], axis=0)
        masks.append(mask_of(f"got by {_lanes(lane[those].tolist())}", got[first[number]], wrong))
    return masks


def _lanes(numbers: list[int]) -> str:
    """Return lanes as text, such as ``lanes 0, 2–5``."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    texts = [str(low) if low == high else f"{low}–{high}" for low, high in spans]
    return f"{'lane' if len(numbers) == 1 else 'lanes'} {', '.join(texts)}"


def hex_of(lanes: Flags) -> str:
    """Return a set of lanes, (size,), as a hexadecimal number."""
    return hex(sum(1 << lane for lane in np.flatnonzero(lanes).tolist()))


def text_of(value: Any, defined: Flags | np.bool_ = np.True_) -> str:
    """Return a NumPy number, or the components of a lane's value, as text; ``any`` if they are undefined."""
    if isinstance(value, str):
        return str(value)
    known = np.broadcast_to(defined, np.shape(value)).ravel()
    items = [shortest(item) if one else "any" for item, one in zip(np.ravel(value), known, strict=True)]
    return items[0] if len(items) == 1 else f"({', '.join(items)})"
