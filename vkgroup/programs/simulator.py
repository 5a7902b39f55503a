"""Simulator of control flow: the invocations that are active together at each observation.

It is a second oracle and shares no code with the reference interpreter: it works on the program, not on
SPIR-V, and on sets of invocations, not on lanes.

A statement is executed at once for all invocations that reach it on the same path. Under maximal
reconvergence these are the *tangles* of SPV_KHR_maximal_reconvergence, one in each subgroup. Under uniform
control flow (SPIR-V 2.2) only *whole* groups are known: a group stays whole as long as all its invocations
take the same path. It is whole again at the merge block of a construct if it entered the construct whole and
left it only by the merge block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vkgroup.programs import nodes
from vkgroup.programs.invocation_sets import LaneLayout

Parts = tuple[int, ...]
"""Disjoint sets of invocations that are together; a device may merge sets or keep them apart."""


@dataclass(frozen=True, slots=True)
class ObservationEvent:
    """One execution of an observation."""

    place: int  # number of the observation
    members: int  # all invocations that execute it on this path
    certain: int  # invocations with a known set of active invocations: all members of their subgroup
    #: Sets that no device may split, if a switch allows several combinations of them; else empty.
    parts: Parts = ()


@dataclass(slots=True)
class _Path:
    """Invocations on a path: all of them, and the ones in whole groups."""

    members: int = 0
    whole: int = 0

    def add(self, other: _Path) -> None:
        self.members |= other.members
        self.whole |= other.whole


@dataclass(slots=True)
class _Target:
    """Invocations that jumped to the end, or to the continue target, of an enclosing construct."""

    broken: _Path = field(default_factory=_Path)
    continued: _Path = field(default_factory=_Path)
    is_loop: bool = False


class Simulator:
    """Simulation of one program that records observations, with a subgroup and lane for each invocation."""

    def __init__(self, program: nodes.RandomProgram, layout: LaneLayout) -> None:
        self.program, self.layout = program, layout
        self._functions = {function.number: function.body for function in program.functions}
        whole_workgroups = program.promise is nodes.Promise.WORKGROUP
        self._fields = layout.whole_workgroups if whole_workgroups else layout.subgroups
        self._maximal = program.promise is nodes.Promise.MAXIMAL
        self._events: list[ObservationEvent] = []
        self._targets: list[_Target] = []
        self._returned = _Path()
        self._parts: Parts = ()
        self._counters: dict[int, int] = {}
        self._known: dict[object, int] = {}

    def run(self) -> list[ObservationEvent]:
        """Return every execution of an observation; each invocation executes them in this order."""
        all_invocations = self.layout.all_invocations
        self._block(self.program.body, _Path(all_invocations, all_invocations))
        return self._events

    # Conditions and numbers

    def _holds(self, condition: nodes.Condition, members: int) -> int:
        """Return a superset of the members for which a condition holds."""
        if isinstance(condition, nodes.Not):
            return ~self._holds(condition.condition, members)
        if isinstance(condition, nodes.Elect):
            return self.layout.subgroups.lowest(members)
        if isinstance(condition, nodes.SameAsFirst):
            first, same = self.layout.subgroups.lowest(members), 0
            for holding in self._values(condition.number).values():
                same |= holding & self.layout.subgroups.with_any(first & holding)
            return same
        if isinstance(condition, nodes.Vote):
            holding = self._holds(condition.condition, members)
            if condition.every:
                return ~self.layout.subgroups.with_any(members & ~holding)
            return self.layout.subgroups.with_any(members & holding)
        if isinstance(condition, nodes.TripIs):
            trip = self._counters[condition.loop]
            if condition.value is None:
                return self._lanes(lambda lane: lane == trip, ("lane", trip))
            return -1 if trip == condition.value else 0
        if condition not in self._known:
            self._known[condition] = self._fixed(condition)
        return self._known[condition]

    def _fixed(self, condition: nodes.Condition) -> int:
        """Return the set for which a constant condition holds."""
        layout = self.layout
        if isinstance(condition, nodes.LaneIn):
            return layout.subgroups.repeat(condition.mask)
        if isinstance(condition, nodes.DataBit):
            return layout.set_of((layout.data >> np.uint32(condition.bit) & 1) == 1)
        if isinstance(condition, nodes.IndexFrom):
            return layout.set_of(np.arange(len(layout.lane)) % layout.local >= condition.index)
        if isinstance(condition, nodes.SubgroupOdd):
            return layout.set_of(layout.subgroup % 2 == 1)
        assert isinstance(condition, nodes.UniformValue)
        return -1 if condition.value else 0

    def _lanes(self, holds: Callable[[int], bool], key: object) -> int:
        if key not in self._known:
            pattern = sum(1 << lane for lane in range(self.layout.size) if holds(lane))
            self._known[key] = self.layout.subgroups.repeat(pattern)
        return self._known[key]

    def _rest(self, number: nodes.OfLane, rest: int) -> int:
        """Return the set of invocations whose lane has this remainder."""
        return self._lanes(lambda lane: lane % number.modulus == rest, ("rest", number, rest))

    def _more(self, trips: nodes.Number, trip: int) -> int:
        """Return the set for which a number of trips is larger than a counter."""
        if isinstance(trips, nodes.Fixed):
            return -1 if trip < trips.value else 0
        if isinstance(trips, nodes.OfLane):
            modulus, base = trips.modulus, trips.base
            return self._lanes(lambda lane: base + lane % modulus > trip, ("more", trips, trip))
        if isinstance(trips, nodes.OfSubgroup):
            return self.layout.set_of(self.layout.subgroup % trips.modulus > trip)
        assert isinstance(trips, nodes.OfData)
        key = (trips, trip)
        if key not in self._known:
            number = self.layout.data >> np.uint32(trips.shift) & np.uint32(3)
            self._known[key] = self.layout.set_of(number > trip)
        return self._known[key]

    def _values(self, selector: nodes.Number) -> dict[int, int]:
        """Return the set for each value of a selector."""
        if isinstance(selector, nodes.Fixed):
            return {selector.value: -1}
        if isinstance(selector, nodes.Counter):
            return {self._counters[selector.loop]: -1}
        if isinstance(selector, nodes.OfLane):
            return {selector.base + rest: self._rest(selector, rest) for rest in range(selector.modulus)}
        if isinstance(selector, nodes.OfSubgroup):
            rests = self.layout.subgroup % selector.modulus
            return {rest: self.layout.set_of(rests == rest) for rest in range(selector.modulus)}
        above = [-1, *(self._more(selector, trip) for trip in range(3)), 0]
        return {value: above[value] & ~above[value + 1] for value in range(4)}

    def _branch(self, path: _Path, taken: int) -> _Path:
        """Return the path of the members that take a branch; a group stays whole if all members take it."""
        members = path.members & taken
        if self._maximal:
            return _Path(members, members)
        return _Path(members, path.whole & ~self._fields.with_any(path.whole & ~taken))

    # Statements: each takes a path and returns the path of those that reach its end

    def _block(self, block: nodes.Block, path: _Path) -> _Path:
        for statement in block:
            if not path.members:
                break
            path = self._statement(statement, path)
        return path

    def _statement(self, statement: nodes.Statement, path: _Path) -> _Path:
        if isinstance(statement, nodes.Observe):
            self._observe(statement, path)
        elif isinstance(statement, nodes.If):
            return self._if(statement, path)
        elif isinstance(statement, nodes.Loop):
            run = self._elect_loop if statement.form == "elect" else self._loop
            return run(statement, path)
        elif isinstance(statement, nodes.Jump):
            return self._jump(statement.kind, path)
        elif isinstance(statement, nodes.Switch):
            return self._switch(statement, path)
        elif isinstance(statement, nodes.FunctionCall):
            return self._call(statement, path)
        else:
            assert isinstance(statement, nodes.Effect)
        return path

    def _observe(self, statement: nodes.Observe, path: _Path) -> None:
        if statement.unpredictable:
            return
        certain = path.members if self._maximal else path.whole
        parts = tuple(part & path.members for part in self._parts if part & path.members)
        self._events.append(
            ObservationEvent(statement.place, path.members, certain, parts if len(parts) > 1 else ())
        )

    def _merge(self, entered: _Path, arriving: int) -> _Path:
        """Return the path after a merge block: whole groups that arrive with all members stay whole."""
        if self._maximal:
            return _Path(arriving, arriving)
        return _Path(arriving, entered.whole & ~self._fields.with_any(entered.whole & ~arriving))

    def _if(self, statement: nodes.If, path: _Path) -> _Path:
        if statement.unpredictable:
            return path
        assert isinstance(statement.condition, nodes.Condition)
        if _communicates(statement.condition):
            # Otherwise the outcome would be unknown.
            assert path.whole == path.members
            assert not self._parts
        holding = self._holds(statement.condition, path.members)
        then = self._block(statement.then, self._branch(path, holding))
        otherwise = self._block(statement.otherwise, self._branch(path, ~holding))
        return self._merge(path, then.members | otherwise.members)

    def _jump(self, kind: str, path: _Path) -> _Path:
        if kind == "return":
            self._returned.add(path)
        elif kind == "break":
            self._targets[-1].broken.add(path)
        else:
            next(target for target in reversed(self._targets) if target.is_loop).continued.add(path)
        return _Path()

    def _loop(self, loop: nodes.Loop, entered: _Path) -> _Path:
        """Run a loop whose number of trips is known; a "do" evaluates it after the body."""
        assert isinstance(loop.trips, nodes.Number)
        counts_first = loop.form in ("while", "do")
        target = _Target(is_loop=True)
        self._targets.append(target)
        trip, path = 0, entered
        while True:
            if loop.form in ("for", "while") or (loop.form == "do" and trip):
                more = self._more(loop.trips, trip)
                target.broken.add(self._branch(path, ~more))
                path = self._branch(path, more)
            if not path.members:
                break
            self._counters[loop.number] = trip + 1 if counts_first else trip
            path = self._block(loop.body, path)
            if loop.form == "endless":
                more = self._more(loop.trips, trip)
                target.broken.add(self._branch(path, ~more))
                path = self._block(loop.rest, self._branch(path, more))
            # The continue target: invocations that continued and those that reached the end reconverge.
            path.add(target.continued)
            target.continued = _Path()
            trip = self._step(loop, trip, path)
        self._targets.pop()
        return self._merge(entered, target.broken.members)

    def _elect_loop(self, loop: nodes.Loop, entered: _Path) -> _Path:
        if loop.unpredictable:
            if loop.exit == "break":
                return entered
            # The invocations return one by one, in an unknown order: no group is whole.
            self._returned.add(_Path(entered.members))
            return _Path()
        target = _Target(is_loop=True)
        self._targets.append(target)
        trip, path = 0, entered
        while path.members:
            self._counters[loop.number] = trip
            path = self._block(loop.body, path)
            exiting = self._holds(loop.exit_condition or nodes.Elect(), path.members)
            in_exit = self._branch(path, exiting)
            after_exit = self._block(loop.before_exit, in_exit)
            if loop.carried is not None and in_exit.members:
                self._observe(loop.carried, in_exit)
            self._jump(loop.exit, after_exit)
            path = self._block(loop.rest, self._branch(path, ~exiting))
            trip = self._step(loop, trip, path)
        self._targets.pop()
        return self._merge(entered, target.broken.members)

    def _step(self, loop: nodes.Loop, trip: int, path: _Path) -> int:
        """Return the number of the next trip; an observation in the continue target is recorded before it."""
        self._counters[loop.number] = trip + 1
        if loop.between is not None and path.members:
            self._observe(loop.between, path)
        return trip + 1

    def _switch(self, switch: nodes.Switch, entered: _Path) -> _Path:
        assert isinstance(switch.selector, nodes.Number)
        values = self._values(switch.selector)
        labelled = {label for case in switch.cases for label in case.labels}
        has_default = any(case.default for case in switch.cases)
        target, outer = _Target(), self._parts
        self._targets.append(target)
        arriving = 0
        if not has_default:
            for value, holding in values.items():
                arriving |= entered.members & holding if value not in labelled else 0
        falling = _Path()
        for case in switch.cases:
            path, falling = falling, _Path()
            for value, holding in values.items():
                if value in case.labels or (case.default and value not in labelled):
                    path.add(self._branch(entered, holding))
            if self._maximal:
                self._parts = _split(outer, list(values.values()), path.members)
            path = self._block(case.body, path)
            if case.falls:
                falling = path
            else:
                arriving |= path.members
        self._parts = outer
        self._targets.pop()
        return self._merge(entered, arriving | falling.members | target.broken.members)

    def _call(self, call: nodes.FunctionCall, path: _Path) -> _Path:
        outer_returned, outer_targets = self._returned, self._targets
        self._returned, self._targets = _Path(), []
        path = self._block(self._functions[call.function], path)
        self._returned.add(path)
        path, self._returned, self._targets = self._returned, outer_returned, outer_targets
        if self._maximal:
            path.whole = path.members
        return path


def _split(parts: Parts, by: Sequence[int], members: int) -> Parts:
    """Return the refined parts of a set of invocations; empty if one part contains all of them."""
    split = tuple(part & other & members for part in parts or (-1,) for other in by if part & other & members)
    return split if len(split) > 1 else ()


def _communicates(condition: nodes.Expression) -> bool:
    """Whether a condition depends on which invocations are active."""
    if isinstance(condition, nodes.Not):
        return _communicates(condition.condition)
    return isinstance(condition, nodes.Elect | nodes.Vote | nodes.SameAsFirst)
