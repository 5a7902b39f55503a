"""The lanes of a failure as data to draw: recorded by the run, else read from the words of older ones."""

from __future__ import annotations

import re
from typing import Any

from vkgroup.results.record import Result

MOST_LANES = 128

_LANE = re.compile(
    r"^(?P<where>.*?)\s*\blane (?P<lane>\d{1,3})\b\)?,?(?P<place>[^:]*):"
    r"(?: input (?P<input>.+?))?(?: operand (?P<operand>.+?))? expected (?P<expected>.+?),? got (?P<got>.+)$"
)
_ACTIVE = re.compile(r"active (0x[0-9a-f]{1,32})\b")
_HEX = re.compile(r"0x[0-9a-f]{1,32}")
_SLOT = re.compile(r"slot (\d{1,6})\b")
_SIZE = re.compile(r"\.size(\d{1,3})(?:\.|$)")
_OF_ENTRY = re.compile(r"^(?:invocation \d+ of )?(?P<group>.*?)\s*\(?(?P<subgroup>subgroup \d+)?,?$")
_ROWS = ("input", "operand", "expected", "got")


def drawing_of(result: Result, size: int) -> dict[str, Any] | None:
    """Return the lanes of a failure as `vkgroup.conformance.evidence` has them; None where none are known.

    Parameters
    ----------
    size : the device's subgroup size, 0 where it is not known.

    Notes
    -----
    What is read from words has ``partial``: only the lanes that the words name have values, the others of the
    subgroup may be wrong as well.
    """
    recorded = result.evidence
    if recorded is not None and _sound(recorded):
        return recorded
    required = _SIZE.search(result.case)
    return _from_words(result.detail, int(required[1]) if required else size)


def _sound(evidence: dict[str, Any]) -> bool:
    """Whether recorded evidence has the form that the page draws: a file may hold anything."""
    size, rows, wrong = evidence.get("size"), evidence.get("rows"), evidence.get("wrong")
    if not (isinstance(size, int) and 0 < size <= MOST_LANES and isinstance(rows, dict)):
        return False
    named = isinstance(evidence.get("where"), str) and isinstance(evidence.get("slot"), int)
    active = evidence.get("active", "")
    masked = active is None or (isinstance(active, str) and _HEX.fullmatch(active))
    lanes = isinstance(wrong, list) and all(isinstance(lane, int) for lane in wrong)
    cells = all(
        isinstance(row, list)
        and len(row) == size
        and all(text is None or isinstance(text, str) for text in row)
        for row in rows.values()
    )
    return bool(named and masked and lanes and cells and _sound_extras(evidence, size))


def _sound_extras(evidence: dict[str, Any], size: int) -> bool:
    """Whether what evidence may have, and need not, has the form that the page draws."""
    unit, names, masks = (
        evidence.get(name, absent) for name, absent in (("unit", ""), ("names", None), ("masks", []))
    )
    named = names is None or (
        isinstance(names, list) and len(names) == size and all(isinstance(name, str) for name in names)
    )
    return bool(
        isinstance(unit, str)
        and named
        and isinstance(masks, list)
        and all(
            isinstance(mask, dict)
            and isinstance(mask.get("name"), str)
            and all(_HEX.fullmatch(str(mask.get(key))) for key in ("mask", "wrong"))
            for mask in masks
        )
    )


def _from_words(detail: str, size: int) -> dict[str, Any] | None:
    """Return the lanes of the first subgroup that the words name."""
    found = [match for line in detail.splitlines() if (match := _LANE.match(line.strip()))]
    if not found:
        return None
    first = found[0]
    same = [match for match in found if _key(match) == _key(first)]
    lanes = {int(match["lane"]): match for match in reversed(same)}
    active = _ACTIVE.search(first["place"])
    needed = max(*lanes, int(active[1], 16).bit_length() - 1 if active else 0) + 1
    size = max(size, 1 << (needed - 1).bit_length())
    if size > MOST_LANES:
        return None
    rows: dict[str, list[str | None]] = {}
    for row in _ROWS:
        if first[row] is not None:
            rows[row] = [lanes[lane][row] if lane in lanes else None for lane in range(size)]
    slot = _SLOT.search(first["place"])
    return {
        "where": _where(first["where"]),
        "slot": int(slot[1]) if slot else 0,
        "size": size,
        "active": active[1] if active else None,
        "wrong": sorted(lanes),
        "rows": rows,
        "partial": True,
    }


def _where(words: str) -> str:
    """Return the subgroup in words, without the invocation that was the example."""
    match = _OF_ENTRY.match(words)
    parts = [match["group"], match["subgroup"]] if match else [words]
    return " ".join(part for part in parts if part).strip(" (,")


def _key(match: re.Match[str]) -> tuple[str, str]:
    return _where(match["where"]), match["place"]
