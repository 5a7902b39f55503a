"""The results of runs in compact form: each text once, with numbers that refer to it.

The names of half a million cases have a few thousand heads and tails, and their lanes and notes repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from vkgroup.base.lifetime import paused
from vkgroup.conformance.subgroup.cases import STAGES
from vkgroup.record.record import AGAINST_THE_DEVICE, Result, Status
from vkgroup.spec.types import LONG_TYPES, TYPES

HEAD = 4
"""Number of parts of a name that contain its axes."""

NONE = "–"
"""Stage or type of a name without one."""

_HLSL_SCALARS = (
    "bool",
    "int",
    "uint",
    "float",
    "half",
    "double",
    "int16_t",
    "uint16_t",
    "int64_t",
    "uint64_t",
)
_HLSL = frozenset(f"{scalar}{count}" for scalar in _HLSL_SCALARS for count in ("", "2", "3", "4"))


@cache
def axes_of(head: str) -> tuple[str, str, str, str]:
    """Return category, stage, operation and type of the cases whose names begin with `head`."""
    category, *others = head.split(".")
    stage = next((part for part in others if part in STAGES), NONE)
    rest = [part for part in others if part != stage]
    type_ = next((part for part in rest[1:] if part in TYPES or part in LONG_TYPES or part in _HLSL), NONE)
    return category, stage, rest[0] if rest else category, type_


def split(name: str) -> tuple[str, str]:
    """Return a name's head, which contains its axes, and its tail."""
    parts = name.split(".", HEAD)
    return ".".join(parts[:HEAD]), parts[HEAD] if len(parts) > HEAD else ""


LETTERS = {
    Status.PASS: "P",
    Status.FAIL: "F",
    Status.UNDEFINED: "U",
    Status.NOT_SUPPORTED: "N",
    Status.CRASH: "C",
    Status.TIMEOUT: "T",
    Status.COMPILED: "D",
    Status.REJECTED: "R",
    Status.NOT_EMULATED: "E",
}
"""The letter of each status on the page."""

_STATUSES = {letter: status for status, letter in LETTERS.items()}


NOT_THERE = " "
"""The letter for a case that is missing in a run."""


@dataclass
class Cases:
    """The cases of one run in compact form."""

    #: ``[head, tails, statuses, lanes, notes]`` for each head of names, sorted by name. ``tails`` are
    #: numbers, one per case, ``statuses`` as many letters; ``lanes`` and ``notes`` are numbers, or one number
    #: where all are the same.
    blocks: list[list[Any]] = field(default_factory=list)
    totals: Counter[Status] = field(default_factory=Counter)  # results by status
    #: `defined`, `undefined`: lanes with a defined result, and lanes with an undefined one.
    defined: int = 0
    undefined: int = 0
    against: list[Result] = field(default_factory=list)  # the results that are verdicts against the device


class Numbered:
    """Numbers objects in the order of their first use."""

    def __init__(self, *first: Any) -> None:
        self._number: dict[Any, int] = {item: number for number, item in enumerate(first)}

    def __call__(self, item: Any) -> int:
        """Return an object's number."""
        return self._number.setdefault(item, len(self._number))

    def __iter__(self) -> Any:
        return iter(self._number)


class Table:
    """Cases of several runs, with shared texts."""

    def __init__(self) -> None:
        self._heads = Numbered()
        self._tails = Numbered("")
        self._notes = Numbered("")
        self._lanes = Numbered((0, 0))

    def run(self, results: Iterable[Result]) -> Cases:
        """Return the cases of one run; iterates the results once, and keeps only the data for the page."""
        with paused():
            return self._run(results)

    def _run(self, results: Iterable[Result]) -> Cases:
        found = Cases()
        by_head: dict[str, list[tuple[str, str, int, int]]] = {}
        for result in results:
            status = result.status
            head, tail = split(result.case)
            lanes = self._lanes((result.defined, result.undefined))
            found.defined += result.defined
            found.undefined += result.undefined
            note = 0
            if status in AGAINST_THE_DEVICE:  # the page shows the details of failures elsewhere
                found.against.append(result)
            else:
                note = self._notes(result.detail)
            by_head.setdefault(head, []).append((tail, LETTERS[status], lanes, note))
        for head in sorted(by_head, key=lambda head: (axes_of(head), head)):
            tails, letters, lanes_of, notes = zip(*sorted(by_head[head]), strict=True)
            found.blocks.append([*self.place(head, tails), "".join(letters), _short(lanes_of), _short(notes)])
            for letter, count in Counter(letters).items():
                found.totals[_STATUSES[letter]] += count
        return found

    def place(self, head: str, tails: Iterable[str]) -> tuple[int, list[int]]:
        """Return the numbers of a head and of tails of names."""
        return self._heads(head), [self._tails(tail) for tail in tails]

    def texts(self) -> dict[str, Any]:
        """Return the texts by number."""
        words = Numbered()
        heads = [[head, *map(words, axes_of(head))] for head in self._heads]
        return {
            "words": list(words),
            "heads": heads,
            "tails": list(self._tails),
            "lanes": [list(pair) for pair in self._lanes],
            "notes": list(self._notes),
        }


def _short(numbers: Sequence[int]) -> list[int] | int:
    return numbers[0] if len(set(numbers)) == 1 else list(numbers)
