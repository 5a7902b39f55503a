"""Hazards, followed along the paths that waves take."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.amd.hazard_rules import NO_MARKS, Marks, rules_of
from vkgroup.amd.hazard_uses import Use, use_of
from vkgroup.amd.steps import Step

MOST_STATES = 20_000
"""States that are remembered; more are forgotten, so that memory stays bounded."""


@dataclass(eq=False)
class HazardState:
    """What the rules remember on one path; `after` keeps what follows each step, and what is wrong there."""

    marks: tuple[Marks, ...]
    after: dict[int, tuple[HazardState, str, int]] = field(default_factory=dict)


class Hazards:
    """The hazards of a generation, followed along the paths of programs."""

    def __init__(self, generation: float, wave: int) -> None:
        self._rules = rules_of(generation, wave)
        self._known: dict[tuple[Marks, ...], HazardState] = {}
        self._uses: dict[int, Use] = {}
        self.start = self._state(tuple(NO_MARKS for _ in self._rules))

    def _state(self, marks: tuple[Marks, ...]) -> HazardState:
        state = self._known.get(marks)
        if state is None:
            if len(self._known) >= MOST_STATES:
                self._known.clear()
                self.start.after.clear()
                self._known[self.start.marks] = self.start
            state = self._known[marks] = HazardState(marks)
        return state

    def advance(self, state: HazardState, step: Step) -> tuple[HazardState, str, int]:
        """Return the state after a step, the name of the hazard in it, if any, and the register."""
        found = state.after.get(id(step))
        if found is None:
            use = self._uses.get(id(step))
            if use is None:
                use = self._uses[id(step)] = use_of(step)  # it keeps the step, and so its number
            marks: list[Marks] = []
            name, register = "", -1
            for own, (rule_name, rule) in zip(state.marks, self._rules.items(), strict=True):
                following, wrong = rule(own, use)
                marks.append(following)
                if wrong != -1 and not name:
                    name, register = rule_name, wrong
            found = state.after[id(step)] = (self._state(tuple(marks)), name, register)
        return found

    def join(self, one: HazardState, other: HazardState) -> HazardState:
        """Return the state where two paths meet."""
        if one is other:
            return one
        return self._state(tuple(a | b for a, b in zip(one.marks, other.marks, strict=True)))
