"""Notes on the further lines of a finding: some are quoted, the others are numbered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vkgroup.check.findings import Note, SourceLocation

_MAX_LINES = 3
"""Maximum number of further lines that a finding quotes."""

_MAX_RANGES = 12
"""Maximum number of ranges of line numbers in a note."""


def notes_of_lines(message: str, further: Sequence[SourceLocation]) -> list[Note]:
    """Return notes on the further lines of a finding; those beyond `_MAX_LINES` are only numbered."""
    notes = [Note(message, place) for place in further[:_MAX_LINES]]
    rest = further[_MAX_LINES:]
    if not rest:
        return notes
    lines = [place.line for place in rest if place.line]
    numbers = f": {ranges(lines)}" if len(lines) == len(rest) else ""
    return [*notes, Note(f"and in {len(rest)} more line{'s' * (len(rest) != 1)}{numbers}")]


def ranges(lines: Iterable[int]) -> str:
    """Return line numbers as a list with ranges: ``"5, 7 to 9"``."""
    ranges: list[list[int]] = []
    for line in sorted(lines):
        if ranges and line <= ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    parts = [str(first) if first == last else f"{first} to {last}" for first, last in ranges]
    return ", ".join(parts[:_MAX_RANGES]) + ", …" * (len(parts) > _MAX_RANGES)
