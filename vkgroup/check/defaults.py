"""Trials with other values of specialization constants than their defaults in the source.

If the host sets the local size with a constant, it sets others too, and the defaults may not fit each other.
The search keeps them. The trials here only show which errors come from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vkgroup.check.findings import RACES
from vkgroup.check.influence import Source
from vkgroup.check.trials import Trial
from vkgroup.dispatch.results import Event

if TYPE_CHECKING:
    from vkgroup.check.search import Search

_MOST_TRIALS = 48
"""Maximum number of trials."""

_FACTORS = (2, 0.5, 4, 0.25, 16)
"""Ratios of the values that are tried to the default."""


class DefaultTrials:
    """The trials of one shader in which constants have other values than their defaults."""

    def __init__(self, search: Search) -> None:
        self.trials: list[Trial] = []
        self._search, self._constants, self._varied = search, search.trier.defaults, False

    def without(self, event: Event) -> Iterator[Trial]:
        """Yield trials without an event.

        It may be an access outside of an array, a race, or a read of shared memory that nothing has written.
        """
        uninitialised = event.cause is not None and event.cause.kind == "uninitialised"
        if not self._constants or (event.kind not in ("bounds", *RACES) and not uninitialised):
            return
        if not self._varied:
            self._varied = True
            self._vary()
        for trial in self.trials:
            if self._removes(trial, event):
                yield trial

    def _removes(self, trial: Trial, event: Event) -> bool:
        """Whether a trial is without an event, and its constants can be the reason.

        A constant that removes a race must influence the address. Otherwise a smaller local size would excuse
        a missing barrier.
        """
        search = self._search
        if event.kind in RACES:
            sources = search.sources(event) or frozenset()
            changed = [number for number in self._constants if number.key in trial.numbers]
            if not any(search.influences(number, sources) for number in changed):
                return False
        return search.is_without(event, trial)

    def _vary(self) -> None:
        """Change one constant after another, until each error has disappeared in a trial.

        A value with fewer errors is kept for the following trials.
        """
        search = self._search
        errors = [event for event in search.best.events.values() if not self._is_doubtful(event)]
        sources = frozenset[Source]().union(*(search.sources(event) or () for event in errors))
        ordered = sorted(self._constants, key=lambda number: not search.influences(number, sources))
        # Generated values that follow the number of invocations must stay when a constant changes it.
        numbers = {number.key: number.value for number in search.best.values if not number.is_default}
        least = search.cost(search.best)
        for factor in _FACTORS:
            for number in ordered:
                value = int(number.value * factor)
                if not value or numbers.get(number.key) == value:
                    continue
                if not errors or len(self.trials) >= _MOST_TRIALS:
                    break
                trial = search.try_({**numbers, number.key: value})
                self.trials.append(trial)
                errors = [event for event in errors if not self._removes(trial, event)]
                if search.cost(trial) < least:
                    numbers[number.key], least = value, search.cost(trial)
        self.trials.sort(key=lambda trial: len(trial.numbers))

    def _is_doubtful(self, event: Event) -> bool:
        """Whether other generated values remove an event."""
        return self._search.depends(event) and next(self._search.without(event), None) is not None
