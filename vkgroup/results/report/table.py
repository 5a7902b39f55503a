"""The results of runs, small: every text once, and numbers that say which.

A run of half a million cases has a few thousand heads and tails of names, and its lanes and notes repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from vkgroup.garbage_collection import paused
from vkgroup.results.record import AGAINST_THE_DEVICE, Result, Status
from vkgroup.results.report.axes import axes_of, split

LETTERS = {
    Status.PASS: "P",
    Status.FAIL: "F",
    Status.UNDEFINED: "U",
    Status.NOT_SUPPORTED: "N",
    Status.CRASH: "C",
    Status.TIMEOUT: "T",
}
"""Each status in one letter, as the page has them."""

_STATUSES = {letter: status for status, letter in LETTERS.items()}


NOT_THERE = " "
"""Stands for the status of a case that a run does not have."""


@dataclass
class Cases:
    """One run's cases.

    Attributes
    ----------
    blocks : ``[head, tails, statuses, lanes, notes]`` for each head of names, sorted by name. ``tails`` are
        numbers, one a case, ``statuses`` as many letters; ``lanes`` and ``notes`` are numbers, or one
        number where all are the same.
    totals : results by status.
    defined, undefined : lanes that were judged, and that could not be.
    against : the results that are verdicts against the device.
    """

    blocks: list[list[Any]] = field(default_factory=list)
    totals: Counter[Status] = field(default_factory=Counter)
    defined: int = 0
    undefined: int = 0
    against: list[Result] = field(default_factory=list)


class Numbered:
    """Things in the order in which they were first met."""

    def __init__(self, *first: Any) -> None:
        self._number: dict[Any, int] = {thing: number for number, thing in enumerate(first)}

    def __call__(self, thing: Any) -> int:
        """Return a thing's number."""
        return self._number.setdefault(thing, len(self._number))

    def __iter__(self) -> Any:
        return iter(self._number)


class Table:
    """Cases of several runs with the texts that they share."""

    def __init__(self) -> None:
        self._heads = Numbered()
        self._tails = Numbered("")
        self._notes = Numbered("")
        self._lanes = Numbered((0, 0))

    def run(self, results: Iterable[Result]) -> Cases:
        """Return one run's cases; goes through them once, and keeps no more of them than the page needs."""
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
            if status in AGAINST_THE_DEVICE:  # of which it is said elsewhere, at length, what is wrong
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
        """Return what the numbers mean."""
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
