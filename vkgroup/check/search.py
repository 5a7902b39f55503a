"""Search for consistent generated inputs: values with which a shader accesses its arrays without errors.

A shader's host passes sizes, strides and counts that fit together. Generated values that do not fit cause
races, accesses out of bounds and endless loops, which say nothing about the shader. The search runs the
shader at one subgroup size with values guessed from their names, then changes one value at a time. It keeps
the values that cause fewer such errors and still execute the same instructions.

Names follow common practice: ``ne01`` or ``n1`` is the size of dimension 1, ``nb01`` or ``stride1`` its
stride; ``w``, ``h`` and ``c`` are sizes; ``cstep`` is the stride of a channel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, zip_longest

import numpy as np

from vkgroup.check.contents import COUNTS, NAMED, SIZES, STARTS, partial_count
from vkgroup.check.findings import RACES
from vkgroup.check.flow import compared_literals
from vkgroup.check.inputs import GeneratedNumber, NumberKey, Numbers
from vkgroup.check.trial_set import TrialSet
from vkgroup.check.trials import WORK_LIMIT, CheckTrial, EventKey
from vkgroup.reference.events import Event

_STRIDE = re.compile(r"stride|step|pitch|^nb\d|_nb\d|^s[a-z]{0,2}\d$|_s\d$|jump")
_SIZE = re.compile(
    r"^n[ekrc]?\d|^n[a-z]+$|^n_|^num_|dim|rows|cols|width|height|^[whdc]$|^[A-Z]{1,2}$|size|out[whdc]$|head"
)
_OFFSET = re.compile(r"^s_off|offset|^off")
_OUTER = re.compile(r"batch|channel|cstep|plane|slice")
_DIGIT = re.compile(r"(\d)\]?$")
_DIVISION = re.compile(r"_?(\d+)_?(mp|magic|L|shift)$")
"""Multiplier and shift of a division by the product of the sizes with these numbers, as in ``ne0_12mp``."""

_FAMILIES = ((16, 64, 0), (4, 64, 1 << 18), (4, 16, 0), (64, 128, 0), (2, 32, 0), (1, 64, 0))
"""Size of dimensions 0 and 1, ratio of the strides of consecutive dimensions, offsets; powers of two."""

_MOST_PACKED = 6
"""Maximum number of values that are also tried in the upper bits of an integer."""

_FEW = 128
"""Number of invocations for which a shader is given a count if it runs too long with more."""

_FURTHER = 2
"""Size of dimensions 2 and 3."""


def guesses(numbers: Sequence[GeneratedNumber], invocations: int, *, fewer: bool) -> Iterator[Numbers]:
    """Yield alternative values for all generated integers, the most likely ones first.

    `fewer`: begin with small counts, because the shader runs too long with the default ones.
    """
    small = {number.key: 2 for number in numbers if number.words & COUNTS}
    if fewer:
        few = partial_count(min(invocations, _FEW))
        yield {number.key: few for number in numbers if number.words & COUNTS}
        yield {**_by_dimension(numbers, 4, 16, 0), **small}
        yield {number.key: 1 for number in numbers}
    first, *others = _FAMILIES
    yield _by_dimension(numbers, *first)
    yield {number.key: 1 for number in numbers if not number.words & NAMED}
    yield {number.key: 1 for number in numbers if not number.words & (COUNTS | STARTS)}
    for family in others:
        yield _by_dimension(numbers, *family)
    yield {number.key: 0 for number in numbers if not number.words & COUNTS}
    yield {number.key: 1 for number in numbers}
    yield {number.key: limited(number, invocations) for number in numbers if not number.words & STARTS}


def _by_dimension(numbers: Sequence[GeneratedNumber], size: int, ratio: int, offset: int) -> Numbers:
    """Return sizes of `size`, strides with room for `ratio` elements of the dimension before, and offsets."""
    values: dict[NumberKey, int] = {}
    for number in numbers:
        name = number.name
        digit = _DIGIT.search(name)
        dimension = int(digit[1]) if digit is not None else 2 if _OUTER.search(name) else 1
        division = _DIVISION.search(name)
        if division is not None:
            bits = sum(_size(int(entry), size).bit_length() - 1 for entry in division[1])
            values[number.key] = 0 if division[2] in ("mp", "magic") else bits
        elif _STRIDE.search(name):
            values[number.key] = limited(number, ratio**dimension if dimension < 4 else 1)
        elif _SIZE.search(name) or number.words & SIZES:
            values[number.key] = limited(number, _size(dimension, size))
        elif _OFFSET.search(name):
            values[number.key] = limited(number, offset)
        elif number.words & STARTS:
            values[number.key] = 0
        elif not number.words & COUNTS:
            values[number.key] = 1
    return values


def _size(dimension: int, size: int) -> int:
    """Return the size of a dimension."""
    return size if dimension < 2 else _FURTHER


def candidates(number: GeneratedNumber, size: tuple[int, int, int]) -> Iterator[int]:
    """Yield other values for one integer: small ones, powers of two, and the sizes of the dispatch."""
    powers = (2, 4, 64, 16, 256, 1024, 8, 32, 4096, 128, 512, 1 << 16)
    for value in dict.fromkeys((1, 0, *powers, *size, math.prod(size))):
        if value != number.value and value == limited(number, value):
            yield value


def branch_values(number: GeneratedNumber, literals: Sequence[int]) -> Iterator[int]:
    """Yield values for an integer that decides a branch: near the module's constants, also in upper bits."""
    near = [value + step for step in (0, 1, -1) for value in (0, *literals) if value + step >= 0]
    values = [*near, *(value << shift for shift in (16, 8, 24) for value in near[:_MOST_PACKED])]
    for value in dict.fromkeys(values):
        if value != number.value and value == limited(number, value):
            yield value


def limited(number: GeneratedNumber, value: int) -> int:
    """Return a value, or the largest one of the integer's type if that is smaller."""
    if number.dtype.kind == "f":
        return value
    return min(value, int(np.iinfo(number.dtype).max))


_MOST_DEFAULTS = 48
"""Maximum number of trials with default values."""

_FACTORS = (2, 0.5, 4, 0.25, 16)
"""Ratios of the values that are tried to the default."""

_WORK = 6 * WORK_LIMIT
"""Limit of the work of a search, as in `WorkBudget`."""

_MOST_TRIALS = 64
"""Maximum number of trials."""

_MOST_OFFSETS = 4
"""Maximum number of integers that are tried as the distance of the two sides of a race."""

_MOST_REPAIRS = 3
"""Maximum number of guesses that are tried if other values cover more, but cause errors."""


@dataclass
class TrialSearch(TrialSet):
    """The search for the best trial of one shader."""

    until: float = math.inf
    further: list[CheckTrial] = field(default_factory=list)  # trials of which every error is reported

    def __post_init__(self) -> None:
        super().__post_init__()
        #: Trials in which constants have other values than their defaults, and the generator of further ones.
        self._varied: list[CheckTrial] = []
        self._constants_to_vary = self.trier.defaults if self.trier.request.has_constant_size else ()
        self._further_varied = self._vary()
        #: Integers with a value whose errors no guess removes, with what was executed, and the errors.
        self._not_repaired: set[tuple[NumberKey, frozenset[int], frozenset[EventKey]]] = set()

    def run(self) -> CheckTrial:
        """Return the best trial: the first one if no generated value matters."""
        if not self.is_clean(self.first):
            self._search()
            if any(self.is_exception(event, self.best) for event in self.errors(self.first).values()):
                self.best = self.first
        self._cover()
        return self.best

    def with_other_constants(self, event: Event) -> Iterator[CheckTrial]:
        """Yield trials without an event; further trials run only if none of the earlier ones is taken.

        It may be an access outside of an array, a race, or a read of shared memory that nothing has written.
        A constant that removes a race must influence the address. Otherwise a smaller local size would excuse
        a missing barrier.
        """
        is_race, sources = event.kind in RACES, self.sources(event) or frozenset()
        if event.kind == "bounds" or is_race or event.reason == "uninitialised":
            for trial in chain(tuple(self._varied), self._further_varied):
                changed = [each for each in self._constants_to_vary if each.key in trial.numbers]
                is_reason = not is_race or any(self.influences(number, sources) for number in changed)
                if is_reason and self.is_without(event, trial):
                    yield trial

    def _vary(self) -> Iterator[CheckTrial]:
        """Yield trials that change one constant after another; a value with fewer errors is kept."""
        sources = self.sources_of(self.best.events)
        ordered = sorted(self._constants_to_vary, key=lambda number: not self.influences(number, sources))
        numbers, least = dict(self.best.numbers), self.cost(self.best)
        work, trier = 0, self.trier
        values = ((number, int(number.value * factor)) for factor in _FACTORS for number in ordered)
        for number, value in islice((entry for entry in values if entry[1]), _MOST_DEFAULTS):
            if numbers.get(number.key) == value or work > 3 * _WORK:
                continue
            before = trier.work
            trial = self.try_({**numbers, number.key: value})
            work += trier.work - before
            self._varied.append(trial)
            if self.cost(trial) < least:
                numbers[number.key], least = value, self.cost(trial)
            yield trial

    def guessed(self, *, fewer: bool = False) -> Iterator[Numbers]:
        """Yield guessed values for all generated integers."""
        return guesses(self.first.dispatch.inputs.numbers, self.trier.invocations, fewer=fewer)

    def _cover(self) -> None:
        """Try values with which the shader executes more of its stores, barriers and subgroup operations.

        Each trial that executes more is changed further, one value at a time: only values that decide a
        branch of which no trial has taken a way.
        """
        until, left = self.trier.work + _WORK // 2, _MOST_TRIALS
        covered = dict(self.best.executed)
        waiting = [self.best]
        while waiting and self.sites.missing(covered, self.is_fixed):
            start = waiting.pop(0)
            choices = [
                [(number, value) for value in branch_values(number, self._literals)]
                for number in self.numbers
            ]
            sources = self.sites.frontier(start.executed, covered)
            for number, value in filter(None, chain(*zip_longest(*choices))):
                if left <= 0 or self.trier.work > until:
                    return
                if not self.influences(number, sources):
                    continue
                left -= 1
                trial = self._repaired({**start.numbers, number.key: value}, number, covered)
                if trial is not None:
                    covered.update(trial.executed)
                    waiting.append(trial)
                    sources = self.sites.frontier(start.executed, covered)

    @cached_property
    def _literals(self) -> list[int]:
        """The integers with which the shader compares."""
        return compared_literals(self.module)

    def _repaired(
        self, numbers: Numbers, number: GeneratedNumber, covered: Mapping[int, int]
    ) -> CheckTrial | None:
        """Return a trial of a value that covers more, guesses for the others included; None without one.

        Another value that executes the same with the same errors as one that no guess repaired is left out.
        """
        trial = self.try_(numbers)
        if not trial.ended or not trial.executed.keys() - covered.keys():
            return None
        like = number.key, frozenset(trial.executed), frozenset(trial.events)
        if like in self._not_repaired:
            return None
        for others in ({}, *islice(self.guessed(), _MOST_REPAIRS)):
            trial = self.try_({**numbers, **others, number.key: numbers[number.key]})
            if self.is_consistent(trial) and trial.executed.keys() - covered.keys():
                return trial
        self._not_repaired.add(like)
        return None

    def supplements(self) -> list[CheckTrial]:
        """Return trials without errors that together execute more sites than the best one, the best first."""
        missing, chosen = self.missing(self.best), list[CheckTrial]()
        candidates = [trial for trial in self.trials if self.is_consistent(trial)]
        work = WORK_LIMIT // 4
        while missing and candidates:
            most = max(candidates, key=lambda trial: len(missing & trial.executed.keys()))
            work -= most.run.work if most.run is not None else 0
            if work < 0 or not missing & most.executed.keys():
                break
            chosen.append(most)
            missing -= most.executed.keys()
        return chosen

    def _search(self) -> None:
        """Find the best trial."""
        self.until = self.trier.work + _WORK
        self._spread()
        if self._done() or not self.numbers:
            return
        for numbers in self.guessed(fewer=not self.first.ended):
            self._improve(numbers)
            if self._done():
                return
        self._spread()
        start = self.trier.work
        for key, event in self.errors(self.best).items():
            if next(self.without(event), None) is None and next(self.with_other_constants(event), None):
                self.by_defaults.add(key)
        self.until += self.trier.work - start
        # The values that decide branches of which the best trial has not taken a way.
        sources = self.sites.frontier(self.best.executed, self.best.executed)
        for number in self.numbers:
            if self.influences(number, sources):
                for value in islice(branch_values(number, self._literals), len(self._literals) + 1):
                    self._improve({**self.best.numbers, number.key: value})
        for _ in range(2):
            if self._done():
                return
            before = self.best
            self._descend()
            if self.best is before:
                return

    def _spread(self) -> None:
        """Try values with which the two sides of a race access different elements."""
        for event in tuple(self.errors(self.best).values()):
            for numbers in self.apart(event, self.best):
                self._improve({**self.best.numbers, **numbers})

    def apart(self, event: Event, trial: CheckTrial) -> Iterator[Numbers]:
        """Yield values with which the two sides of a race may access different elements.

        They are steps between the elements of the arrays that influence the address, then offsets of one
        side behind all elements that the trial accesses.
        """
        keys = [number.key for number in self.contents_of(event)]
        local_size = self.trier.dispatch.program.local_size
        for step in (1, math.prod(local_size), self.trier.invocations, -1) if keys else ():
            yield dict.fromkeys(keys, step)
        lengths = {entry.name: entry.elements for entry in trial.dispatch.inputs.bindings}
        for number in self.offsets_of(event)[:_MOST_OFFSETS]:
            yield {number.key: lengths[event.memory]}

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
        sources = self.sources_of(self.errors(self.best))
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
        number = len(self.trials) - len(self._varied)
        exhausted = number >= _MOST_TRIALS or self.trier.work > self.until
        return exhausted or self.is_clean(self.best)
