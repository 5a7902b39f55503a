"""The trials of one shader, and which of their errors may come from generated values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import starmap

from vkgroup.check.contents import COUNTS
from vkgroup.check.findings import RACES
from vkgroup.check.flow import BY_GROUP, WHOLE
from vkgroup.check.influence import LENGTH, UNKNOWN, Influence, Source, influence_of
from vkgroup.check.inputs import GeneratedNumber, NumberKey, Numbers
from vkgroup.check.sites import Sites
from vkgroup.check.trials import CheckTrial, EventKey, Trier, key_of
from vkgroup.reference.events import Event
from vkgroup.spirv import Module

_LEAST_COVERAGE = 0.8
"""Part of the instructions of the first trial that a better trial must execute too."""

_MOST_RESTORED = 8
"""Maximum number of trials that are repeated with the first one's counts."""

_BY_OPERANDS = ("division", "math_domain", "shift", "conversion", "hang")

Cost = tuple[int, int, int, int, int]
"""What a search makes small: 1 without an end or 2 with less executed, errors and hidden ones, errors, sites
that are not executed, occurrences of errors."""


def identities(module: Module, influence: Influence) -> dict[int, object]:
    """Return what each input is in every module with the same interface, by the id of its variable.

    A built-in variable's name, a binding's set and number, ``"push"``, or a constant's specialization id.
    """
    return {
        **influence.built_ins,
        **{binding.id: binding.place for binding in module.reflection.bindings},
        **dict.fromkeys(influence.push, "push"),
        **specialization_ids(influence),
    }


def specialization_ids(influence: Influence) -> dict[int, int]:
    """Return specialization ids by the result ids of their constants."""
    return {
        result: constant.specialization.id
        for result, constant in influence.declared.constants.items()
        if constant.specialization is not None
    }


@dataclass
class TrialSet:
    """The trials of one shader.

    `first`: the trial with the default values. `best`: the one with the fewest errors so far.
    `by_defaults`: the errors that other values of constants with a default remove; they do not count as
    errors of a trial.
    """

    trier: Trier
    trials: list[CheckTrial] = field(default_factory=list)
    by_defaults: set[EventKey] = field(default_factory=set)
    #: The errors of all trials.
    seen: dict[EventKey, Event] = field(default_factory=dict)
    _missing: dict[int, frozenset[int]] = field(default_factory=dict)
    _by_numbers: dict[frozenset[tuple[NumberKey, int]], CheckTrial] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.module = self.trier.dispatch.program.module
        self.places = {binding.id: binding.place for binding in self.module.reflection.bindings}
        self._constants = specialization_ids(self.influence)
        self.first = self.best = self._by_numbers[frozenset()] = self.trier({})
        self.trials.append(self.first)
        self._buffers = {entry.name for entry in self.first.dispatch.inputs.bindings}
        self.seen = dict(self.errors(self.first))

    @cached_property
    def influence(self) -> Influence:
        """The influence of the inputs on addresses and operands."""
        return influence_of(self.module)

    def try_(self, numbers: Numbers) -> CheckTrial:
        """Return the trial of some values; it runs and is recorded once."""
        key = frozenset(numbers.items())
        if key not in self._by_numbers:
            trial = self._by_numbers[key] = self.trier(numbers)
            self.trials.append(trial)
            self.seen |= {key: event for key, event in self.errors(trial).items() if key not in self.seen}
        return self._by_numbers[key]

    # --- what a trial executes ------------------------------------------------------------------------

    @cached_property
    def sites(self) -> Sites:
        """The sites of the shader."""
        return Sites(self.module, self.trier.dispatch.program.entry)

    def missing(self, trial: CheckTrial) -> frozenset[int]:
        """Return the positions of the sites that can be reached and that a trial does not execute."""
        if (missing := self._missing.get(id(trial))) is None:
            missing = self._missing[id(trial)] = self.missing_in(trial.executed)
        return missing

    def missing_in(self, executed: Mapping[int, int]) -> frozenset[int]:
        """Return the same for what runs have executed, as in `CheckedRun.executed`."""
        return self.sites.missing(executed, self.is_fixed)

    def is_fixed(self, source: Source) -> bool:
        """Whether an input was given or is a constant, or has all its values in one dispatch."""
        variable, member = source
        if source == UNKNOWN or (self.is_buffer(variable) and member != LENGTH):
            return False
        if variable in self.influence.built_ins:
            return self.is_fixed_here(self.influence.built_ins[variable])
        if variable in self.influence.push:
            return member in self.trier.request.given_members
        return not self.is_generated(variable, member)

    def is_fixed_here(self, built_in: str) -> bool:
        """Whether a built-in variable has all its values in one dispatch, or the workgroups are given."""
        return built_in not in BY_GROUP or self.trier.request.groups is not None

    # --- which errors may come from generated values --------------------------------------------------

    def depends(self, event: Event) -> bool:
        """Whether generated values may cause an event: by its address, its operands or the control flow."""
        sources = self.sources(event)
        if sources is None or event.kind == "bounds":
            return bool(self.numbers) or bool(self.contents_of(event))
        return any(starmap(self.is_generated, sources))

    def sources(self, event: Event) -> frozenset[Source] | None:
        """Return the inputs that influence an event; None if any may do so through the control flow."""
        if event.reason in ("bounds", *RACES):
            sources = self.influence.on_address(event.position)
            sources |= self.influence.on_address(event.other_position)
            in_buffer = event.reason in RACES and event.memory in self._buffers
            return None if in_buffer and not any(starmap(self.is_generated, sources)) else sources
        return self.influence.on_operands(event.origin) if event.reason in _BY_OPERANDS else None

    def sources_of(self, events: Mapping[EventKey, Event]) -> frozenset[Source]:
        """Return the inputs that influence any of some events through an address or an operand."""
        return frozenset[Source]().union(*(self.sources(event) or () for event in events.values()))

    def is_generated(self, variable: int, member: int) -> bool:
        """Whether a source is an input that was generated."""
        if variable in self.influence.push:
            return any(number.key[0] is None and member in (number.member, WHOLE) for number in self.numbers)
        if variable in self._constants:
            return any(number.constant_id == self._constants[variable] for number in self.numbers)
        place = self.places.get(variable)
        return any(
            entry.place == place and entry.generated and member not in entry.given
            for entry in self.first.dispatch.inputs.bindings
        )

    def is_buffer(self, variable: int) -> bool:
        """Whether a variable is a storage buffer or an image."""
        bindings = self.module.reflection.bindings
        return any(each.id == variable and each.kind != "uniform_buffer" for each in bindings)

    @property
    def numbers(self) -> tuple[GeneratedNumber, ...]:
        """The generated integers with their default values."""
        return tuple(
            number for number in self.first.values if not number.is_default and not number.is_contents
        )

    def contents_of(self, event: Event) -> list[GeneratedNumber]:
        """Return the generated contents that influence the address of a race."""
        sources = self.sources(event) if event.kind in RACES else None
        return [
            number
            for number in self.first.values
            if number.is_contents and self.influences(number, sources or ())
        ]

    def offsets_of(self, event: Event) -> list[GeneratedNumber]:
        """Return the generated integers that influence the address of one side of a race in a buffer."""
        if event.kind not in RACES or event.memory not in self._buffers:
            return []
        sides = [self.influence.on_address(place) for place in (event.position, event.other_position)]
        return [number for number in self.numbers if self.influences(number, sides[0] ^ sides[1])]

    def errors(self, trial: CheckTrial) -> dict[EventKey, Event]:
        """Return the events of a trial that generated values may cause."""
        return {
            key: event
            for key, event in trial.events.items()
            if key not in self.by_defaults and self.depends(event)
        }

    def influences(self, number: GeneratedNumber, sources: Iterable[Source]) -> bool:
        """Whether a generated integer is among some inputs."""
        for variable, member in sources:
            place = None if variable in self.influence.push else self.places.get(variable, (-1, -1))
            if number.key[0] == place and (member in (number.member, WHOLE) or number.is_contents):
                return True
            if variable in self._constants and number.constant_id == self._constants[variable]:
                return True
        return False

    # --- comparison of trials ----------------------------------------------------------------------

    def cost(self, trial: CheckTrial) -> Cost:
        """Return what the search makes small: no end, errors, sites not executed, occurrences of errors."""
        if trial.run is None:
            return (3, 0, 0, 0, 0)
        errors = self.errors(trial)
        if self._counts(trial) != self._counts(self.first):
            # An error that depends on the control flow is not removed by another count; see `without`.
            errors.update(
                (key, event) for key, event in self.errors(self.first).items() if self.sources(event) is None
            )
        # An error is not removed by values with which its instructions are not executed.
        hidden = sum(
            key not in errors and not self.executes(trial, event) for key, event in self.seen.items()
        )
        covered = self.first.executed
        is_less = covered and len(trial.executed.keys() & covered.keys()) < _LEAST_COVERAGE * len(covered)
        kind = 2 if is_less else 0 if trial.ended else 1
        occurrences = sum(event.count for event in errors.values())
        return kind, len(errors) + hidden, len(errors), len(self.missing(trial)), occurrences

    def is_clean(self, trial: CheckTrial) -> bool:
        """Whether a trial ends without errors, and hides none that another trial has shown."""
        return self.cost(trial)[:2] == (0, 0)

    def is_consistent(self, trial: CheckTrial) -> bool:
        """Whether a trial ends without a race, or an error of an address or operand, that it may cause."""
        return trial.ended and all(
            self.sources(event) is None and event.kind not in RACES for event in self.errors(trial).values()
        )

    def without(self, event: Event) -> Iterator[CheckTrial]:
        """Yield trials that execute an event's instructions without the event.

        If only the control flow can cause it, the counts are those of the first trial: a shader that compares
        an invocation with a count says that its host may pass a count smaller than the invocations.
        """
        by_control = self.sources(event) is None
        defaults = {number.key for number in self.trier.defaults}
        counts = {number.key for number in self.first.values if self._is_count(number)}
        left = _MOST_RESTORED
        for trial in tuple(self.trials):
            if defaults & trial.numbers.keys() or not self.is_without(event, trial):
                continue
            if not by_control or self._counts(trial) == self._counts(self.first):
                yield trial
            elif left and (others := {key: trial.numbers[key] for key in trial.numbers.keys() - counts}):
                left -= 1
                if self.is_without(event, restored := self.try_(others)):
                    yield restored

    def is_without(self, event: Event, trial: CheckTrial) -> bool:
        """Whether a trial executes an event's instructions without the event."""
        if trial.run is None or key_of(event) in trial.events or not self.executes(trial, event):
            return False
        return not self.is_exception(event, trial)

    def is_exception(self, event: Event, trial: CheckTrial) -> bool:
        """Whether a race in shared memory is absent from a trial only because of a special value, such as 0.

        Without a barrier, ``s[(i + shift) % 64]`` is right for shift = 0, and wrong for all others. So the
        numbers that influence the address get a few other values: the race must be absent with one of these.
        """
        if event.kind not in RACES or event.memory in self._buffers or key_of(event) in trial.events:
            return False
        sources = self.sources(event) or frozenset()
        returned = False
        for number, value in differing(self.first, trial):
            if not self.influences(number, sources):
                continue
            for other in {value + 1, value + 2, 2 * value + 3} - {number.value}:
                again = self.try_({**trial.numbers, number.key: other})
                if again.run is None or not self.executes(again, event):
                    continue
                if key_of(event) not in again.events:
                    return False
                returned = True
        return returned

    @staticmethod
    def executes(trial: CheckTrial, event: Event) -> bool:
        """Whether a trial executes the instructions of an event; of a race, in more than one invocation."""
        least = 2 if event.kind in RACES else 1
        positions = {event.position, event.other_position} - {-1}
        return all(trial.executed.get(position, 0) >= least for position in positions)

    def _counts(self, trial: CheckTrial) -> tuple[int, ...]:
        return tuple(number.value for number in trial.values if self._is_count(number))

    def _is_count(self, number: GeneratedNumber) -> bool:
        """Whether an integer counts something, or is compared with the position of invocations."""
        return bool(number.words & COUNTS) or number.key in self.trier.limits


def differing(first: CheckTrial, other: CheckTrial) -> list[tuple[GeneratedNumber, int]]:
    """Return the integers whose values differ between two trials, with the value in the second.

    Default values that differ because they follow the number of invocations are left out.
    """
    values = {number.key: number.value for number in other.values}
    chosen = first.numbers.keys() | other.numbers.keys()
    return [
        (number, values[number.key])
        for number in first.values
        if number.key in chosen and values[number.key] != number.value
    ]


def options_of(first: CheckTrial, other: CheckTrial) -> tuple[str, ...]:
    """Return the options that give the generated values of `other` that are not those of `first`."""
    values: dict[str, list[str]] = {}
    changed = {number.option: number for number, _ in differing(first, other)}
    for number in other.values:
        if number.option in changed:
            values.setdefault(number.option, []).append(str(number.shown(number.value)))
    return tuple(
        option.replace("=V", f"={','.join(given)}")
        if option.endswith("=V")
        else f"{changed[option].name} = {','.join(given)}"
        for option, given in values.items()
    )
