"""Trials with other values of specialization constants than their defaults in the source.

If the host sets the local size with a constant, it sets others too, and the defaults may not fit each other.
The search keeps them. The trials here only show which errors come from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from vkgroup.check.findings import RACES
from vkgroup.check.influence import Source
from vkgroup.check.inputs import GeneratedNumber
from vkgroup.check.trial_set import TrialSet
from vkgroup.check.trials import CheckTrial
from vkgroup.reference.events import Event

_MOST_TRIALS = 48
"""Maximum number of trials."""

_FACTORS = (2, 0.5, 4, 0.25, 16)
"""Ratios of the values that are tried to the default."""


class DefaultTrials:
    """The trials of one shader in which constants have other values than their defaults."""

    def __init__(self, trial_set: TrialSet) -> None:
        self.trials: list[CheckTrial] = []
        self._trial_set, self._constants = trial_set, trial_set.trier.defaults
        self._further = self._vary()

    def without(self, event: Event) -> Iterator[CheckTrial]:
        """Yield trials without an event; further trials run only if none of the earlier ones is taken.

        It may be an access outside of an array, a race, or a read of shared memory that nothing has written.
        """
        uninitialised = event.cause is not None and event.cause.kind == "uninitialised"
        if event.kind in ("bounds", *RACES) or uninitialised:
            for trial in chain(tuple(self.trials), self._further):
                if self._removes(trial, event):
                    yield trial

    def _removes(self, trial: CheckTrial, event: Event) -> bool:
        """Whether a trial is without an event, and its constants can be the reason.

        A constant that removes a race must influence the address. Otherwise a smaller local size would excuse
        a missing barrier.
        """
        trial_set = self._trial_set
        if event.kind in RACES:
            sources = trial_set.sources(event) or frozenset()
            changed = [number for number in self._constants if number.key in trial.numbers]
            if not any(trial_set.influences(number, sources) for number in changed):
                return False
        return trial_set.is_without(event, trial)

    def _vary(self) -> Iterator[CheckTrial]:
        """Yield trials that change one constant after another; a value with fewer errors is kept."""
        trial_set = self._trial_set
        errors = trial_set.best.events.values()
        sources = frozenset[Source]().union(*(trial_set.sources(event) or () for event in errors))
        ordered = sorted(self._constants, key=lambda number: not trial_set.influences(number, sources))
        numbers, least = dict(trial_set.best.numbers), trial_set.cost(trial_set.best)
        for number, value in islice(_values(ordered), _MOST_TRIALS):
            if numbers.get(number.key) == value:
                continue
            trial = trial_set.try_({**numbers, number.key: value})
            self.trials.append(trial)
            if trial_set.cost(trial) < least:
                numbers[number.key], least = value, trial_set.cost(trial)
            yield trial


def _values(constants: Sequence[GeneratedNumber]) -> Iterator[tuple[GeneratedNumber, int]]:
    """Yield constants with the values to try, in the order in which to try them."""
    for factor in _FACTORS:
        for number in constants:
            value = int(number.value * factor)
            if value:
                yield number, value
