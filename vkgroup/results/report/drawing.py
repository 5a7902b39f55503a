"""The lanes of a failure as data to draw: recorded by the run, or read from the text of older runs."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from vkgroup.results.record import Result

MOST_LANES = 128

Hex = Annotated[str, msgspec.Meta(pattern=r"\A0x[0-9a-f]{1,32}\Z")]
"""A mask of lanes."""

_LANE = re.compile(
    r"^(?P<where>.*?)\s*\blane (?P<lane>\d{1,3})\b\)?,?(?P<place>[^:]*):"
    r"(?: input (?P<input>.+?))?(?: operand (?P<operand>.+?))? expected (?P<expected>.+?),? got (?P<got>.+)$"
)
_ACTIVE = re.compile(r"active (0x[0-9a-f]{1,32})\b")
_SLOT = re.compile(r"slot (\d{1,6})\b")
_SIZE = re.compile(r"\.size(\d{1,3})(?:\.|$)")
_OF_ENTRY = re.compile(r"^(?:invocation \d+ of )?(?P<group>.*?)\s*\(?(?P<subgroup>subgroup \d+)?,?$")
_ROWS = ("input", "operand", "expected", "got")


def drawing_of(result: Result, size: int) -> dict[str, Any] | None:
    """Return the lanes of a failure in the form of `vkgroup.conformance.evidence`; None if unknown.

    Parameters
    ----------
    size : the device's subgroup size, 0 if unknown.

    Notes
    -----
    Lanes that are read from text are marked ``partial``: only the lanes that the text names have values, and
    other lanes of the subgroup may be wrong, too.
    """
    recorded = result.evidence
    if recorded is not None and _drawable(recorded):
        return recorded
    required = _SIZE.search(result.case)
    return _from_words(result.detail, int(required[1]) if required else size)


class _Mask(msgspec.Struct):
    """A mask of lanes in evidence."""

    name: str
    mask: Hex
    wrong: Hex


class _Evidence(msgspec.Struct):
    """The evidence that the page can draw; see `vkgroup.conformance.evidence`."""

    where: str
    slot: int
    size: Annotated[int, msgspec.Meta(gt=0, le=MOST_LANES)]
    wrong: list[int]
    rows: dict[str, list[str | None]]
    active: Hex | None = None
    unit: str = ""
    names: list[str] | None = None
    masks: list[_Mask] = []


def _drawable(data: dict[str, Any]) -> bool:
    """Return whether the page can draw recorded evidence: a file may hold anything."""
    try:
        evidence = msgspec.convert(data, _Evidence)
    except ValueError:
        return False
    rows = all(len(row) == evidence.size for row in evidence.rows.values())
    return rows and (evidence.names is None or len(evidence.names) == evidence.size)


def _from_words(detail: str, size: int) -> dict[str, Any] | None:
    """Return the lanes of the first subgroup that the text names."""
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
    """Return the subgroup as text, without the example invocation."""
    match = _OF_ENTRY.match(words)
    parts = [match["group"], match["subgroup"]] if match else [words]
    return " ".join(part for part in parts if part).strip(" (,")


def _key(match: re.Match[str]) -> tuple[str, str]:
    return _where(match["where"]), match["place"]
