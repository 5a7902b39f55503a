"""Search for consistent generated inputs: values with which a shader accesses its arrays without errors.

A shader's host passes sizes, strides and counts that fit together. Generated values that do not fit cause
races, accesses out of bounds and endless loops, which say nothing about the shader. The search runs the
shader at one subgroup size with guessed values, then changes one value at a time. It keeps the values that
cause fewer such errors and still execute the same instructions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from vkgroup.check.defaults import DefaultTrials
from vkgroup.check.fields import COUNTS
from vkgroup.check.guesses import Numbers, candidates, guesses
from vkgroup.check.influence import Source
from vkgroup.check.inputs import GeneratedNumber
from vkgroup.check.trial_set import NO_ERRORS, TrialSet, differing
from vkgroup.check.trials import CheckTrial

_SECONDS = 15.0
"""Time limit of the search in seconds."""

_MOST_TRIALS = 64
"""Maximum number of trials: the search ends by this number, and by the time limit only on slow hosts."""


@dataclass
class TrialSearch(TrialSet):
    """The search for the best trial of one shader."""

    until: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        self.defaults = DefaultTrials(self)

    def run(self) -> CheckTrial:
        """Return the best trial: the first one if no generated value matters."""
        if not self.numbers or self.cost(self.first) == NO_ERRORS:
            return self.best
        self._search()
        if any(self.is_exception(event, self.best) for event in self.errors(self.first).values()):
            self.best = self.first
        return self.best

    def _search(self) -> None:
        """Find the best trial."""
        self.until = time.monotonic() + _SECONDS
        for numbers in guesses(
            self.first.dispatch.inputs.numbers, self.trier.invocations, fewer=self.first.run is None
        ):
            self._improve(numbers)
            if self._done():
                return
        start = time.monotonic()
        for key, event in self.errors(self.best).items():
            if next(self.without(event), None) is None and next(self.defaults.without(event), None):
                self.by_defaults.add(key)
        self.until += time.monotonic() - start
        for _ in range(2):
            if self._done():
                return
            before = self.best
            self._descend()
            if self.best is before:
                return

    def guess(self) -> None:
        """Try the guessed values, without a search."""
        for numbers in guesses(self.first.dispatch.inputs.numbers, self.trier.invocations, fewer=False):
            self.try_(numbers)

    def _descend(self) -> None:
        """Change one value after another: first those that influence the errors, and likely values."""
        size = self.trier.dispatch.program.local_size
        groups = self.trier.dispatch.groups
        grid = (size[0] * groups[0], size[1] * groups[1], size[2] * groups[2])
        for few in (slice(0, 3), slice(3, 8), slice(8, None)):
            for number in self._ordered():
                for value in list(candidates(number, grid))[few]:
                    self._improve({**self.best.numbers, number.key: value})
                    if self._done():
                        return

    def _ordered(self) -> list[GeneratedNumber]:
        """Return the integers, those first that influence an error of the best trial."""
        sources: set[Source] = set()
        for event in self.errors(self.best).values():
            sources |= self.sources(event) or set()
        return sorted(
            self.numbers,
            key=lambda number: (not self.influences(number, sources), bool(number.words & COUNTS)),
        )

    def _improve(self, numbers: Numbers) -> None:
        if self._done():
            return
        trial = self.try_(numbers)
        if self.cost(trial) < self.cost(self.best):
            self.best = trial

    def _done(self) -> bool:
        number = len(self.trials) - len(self.defaults.trials)
        exhausted = number >= _MOST_TRIALS or time.monotonic() > self.until
        return exhausted or self.cost(self.best) == NO_ERRORS


def least_change(
    first: CheckTrial, other: CheckTrial, is_gone: Callable[[Numbers], bool]
) -> list[tuple[GeneratedNumber, int]]:
    """Return values of `other` that remove an error of `first`: a single one if possible, else all."""
    changes = differing(first, other)
    for number, value in changes:
        if is_gone({**first.numbers, number.key: value}):
            return [(number, value)]
    return changes
