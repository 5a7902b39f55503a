"""The results of runs, small: every text once, and numbers that say which.

A run of half a million cases has a few thousand heads and tails of names, and its lanes and notes repeat.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status
from vkgroup.report.html.axes import axes_of, split

LETTERS = {
    Status.PASS: "P",
    Status.FAIL: "F",
    Status.UNDEFINED: "U",
    Status.NOT_SUPPORTED: "N",
    Status.CRASH: "C",
    Status.TIMEOUT: "T",
}
"""Each status in one letter, as the page has them."""


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

    def run(self, results: Iterable[Result]) -> list[list[Any]]:
        """Return one run's cases: ``[head, tails, statuses, lanes, notes]`` for each head, sorted by name.

        ``tails`` are numbers, one a case, ``statuses`` as many letters; ``lanes`` and ``notes`` are numbers,
        or one number where all are the same.
        """
        by_head: dict[str, list[tuple[str, Result]]] = {}
        for result in results:
            head, tail = split(result.case)
            by_head.setdefault(head, []).append((tail, result))
        found = []
        for head in sorted(by_head, key=lambda head: (axes_of(head), head)):
            members = sorted(by_head[head], key=lambda member: member[0])
            found.append(
                [
                    self._heads(head),
                    [self._tails(tail) for tail, _ in members],
                    "".join(LETTERS[result.status] for _, result in members),
                    _short([self._lanes((result.defined, result.undefined)) for _, result in members]),
                    _short([self._notes(_note(result)) for _, result in members]),
                ]
            )
        return found

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


def _note(result: Result) -> str:
    """Return what is said of a case; failures say it elsewhere, at length."""
    return "" if result.status in AGAINST_THE_DEVICE else result.detail


def _short(numbers: list[int]) -> list[int] | int:
    return numbers[0] if len(set(numbers)) == 1 else numbers
