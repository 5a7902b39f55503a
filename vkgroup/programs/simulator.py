"""What the specifications say of a program: who is together at each observation.

A statement is executed for everybody at once who comes to it along the same way. Under maximal
reconvergence these are the *tangles* of SPV_KHR_maximal_reconvergence, one in each subgroup. Under uniform
control flow (SPIR-V 2.2) something is known of *whole* groups alone: they stay whole as long as all take
the same way, and are whole again at the merge block of a construct that they entered whole and that nobody
left otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vkgroup.programs.invocation_sets import Layout
from vkgroup.programs.nodes import (
    Block,
    Call,
    Condition,
    Counter,
    DataBit,
    Effect,
    Elect,
    Fixed,
    If,
    IndexFrom,
    Jump,
    LaneIn,
    Loop,
    Not,
    Number,
    Observe,
    OfData,
    OfLane,
    OfSubgroup,
    Program,
    Promise,
    Statement,
    SubgroupOdd,
    Switch,
    TripIs,
    Uniform,
    Vote,
    communicates,
)

Parts = tuple[int, ...]
"""Disjoint sets of invocations; each is together for certain, and whether with the others is left open."""


@dataclass(frozen=True, slots=True)
class Event:
    """One execution of an observation.

    Attributes
    ----------
    place : the observation's number.
    members : all who execute it along this way.
    certain : those for whom it is known who is with them: all of their subgroup among `members`.
    parts : where a switch leaves open who is together: what no device may split. Empty otherwise.
    """

    place: int
    members: int
    certain: int
    parts: Parts = ()


@dataclass(slots=True)
class _Way:
    """Invocations on their way: all of them, and those whose groups are whole."""

    members: int = 0
    whole: int = 0

    def add(self, other: _Way) -> None:
        self.members |= other.members
        self.whole |= other.whole


@dataclass(slots=True)
class _Target:
    """Who has left for the end, or the continue target, of a construct around."""

    broken: _Way = field(default_factory=_Way)
    continued: _Way = field(default_factory=_Way)
    is_loop: bool = False


class Simulator:
    """Runs one program.

    Parameters
    ----------
    program : what is run.
    layout : which invocation is where.
    """

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self._functions = {function.number: function.body for function in program.functions}
        whole_workgroups = program.promise is Promise.WORKGROUP
        self._fields = layout.whole_workgroups if whole_workgroups else layout.subgroups
        self._maximal = program.promise is Promise.MAXIMAL
        self._events: list[Event] = []
        self._targets: list[_Target] = []
        self._returned = _Way()
        self._parts: Parts = ()
        self._counters: dict[int, int] = {}
        self._known: dict[object, int] = {}

    def run(self) -> list[Event]:
        """Return every execution of an observation, in an order that is every invocation's own."""
        everybody = self.layout.everybody
        self._block(self.program.body, _Way(everybody, everybody))
        return self._events

    # Conditions and numbers

    def _holds(self, condition: Condition, members: int) -> int:
        """Return a set that has those of the members for whom a condition holds."""
        if isinstance(condition, Not):
            return ~self._holds(condition.condition, members)
        if isinstance(condition, Elect):
            return self.layout.subgroups.lowest(members)
        if isinstance(condition, Vote):
            holds = self._holds(condition.condition, members)
            if condition.every:
                return ~self.layout.subgroups.with_any(members & ~holds)
            return self.layout.subgroups.with_any(members & holds)
        if isinstance(condition, TripIs):
            trip = self._counters[condition.loop]
            if condition.value is None:
                return self._lanes(lambda lane: lane == trip, ("lane", trip))
            return -1 if trip == condition.value else 0
        if condition not in self._known:
            self._known[condition] = self._fixed(condition)
        return self._known[condition]

    def _fixed(self, condition: Condition) -> int:
        """Return for whom a condition holds that never changes."""
        layout = self.layout
        if isinstance(condition, LaneIn):
            return layout.subgroups.repeat(condition.mask)
        if isinstance(condition, DataBit):
            return layout.having((layout.data >> np.uint32(condition.bit) & 1) == 1)
        if isinstance(condition, IndexFrom):
            return layout.having(np.arange(len(layout.lane)) % layout.local >= condition.index)
        if isinstance(condition, SubgroupOdd):
            return layout.having(layout.subgroup % 2 == 1)
        assert isinstance(condition, Uniform)
        return -1 if condition.value else 0

    def _lanes(self, holds: Callable[[int], bool], key: object) -> int:
        if key not in self._known:
            pattern = sum(1 << lane for lane in range(self.layout.size) if holds(lane))
            self._known[key] = self.layout.subgroups.repeat(pattern)
        return self._known[key]

    def _rest(self, number: OfLane, rest: int) -> int:
        """Return whose lane has a rest."""
        return self._lanes(lambda lane: lane % number.modulus == rest, ("rest", number, rest))

    def _more(self, trips: Number, trip: int) -> int:
        """Return for whom a number of trips is larger than a counter."""
        if isinstance(trips, Fixed):
            return -1 if trip < trips.value else 0
        if isinstance(trips, OfLane):
            modulus, base = trips.modulus, trips.base
            return self._lanes(lambda lane: base + lane % modulus > trip, ("more", trips, trip))
        if isinstance(trips, OfSubgroup):
            return self.layout.having(self.layout.subgroup % trips.modulus > trip)
        assert isinstance(trips, OfData)
        key = (trips, trip)
        if key not in self._known:
            number = self.layout.data >> np.uint32(trips.shift) & np.uint32(3)
            self._known[key] = self.layout.having(number > trip)
        return self._known[key]

    def _values(self, selector: Number) -> dict[int, int]:
        """Return for whom a selector has each of its values."""
        if isinstance(selector, Fixed):
            return {selector.value: -1}
        if isinstance(selector, Counter):
            return {self._counters[selector.loop]: -1}
        if isinstance(selector, OfLane):
            return {selector.base + rest: self._rest(selector, rest) for rest in range(selector.modulus)}
        if isinstance(selector, OfSubgroup):
            rests = self.layout.subgroup % selector.modulus
            return {rest: self.layout.having(rests == rest) for rest in range(selector.modulus)}
        above = [-1, *(self._more(selector, trip) for trip in range(3)), 0]
        return {value: above[value] & ~above[value + 1] for value in range(4)}

    def _where(self, way: _Way, taken: int) -> _Way:
        """Return those who take a branch; a group is whole there if all of it does."""
        members = way.members & taken
        if self._maximal:
            return _Way(members, members)
        return _Way(members, way.whole & ~self._fields.with_any(way.whole & ~taken))

    # Statements: each takes a way and returns that of those who come to its end

    def _block(self, block: Block, way: _Way) -> _Way:
        for statement in block:
            if not way.members:
                break
            way = self._statement(statement, way)
        return way

    def _statement(self, statement: Statement, way: _Way) -> _Way:
        if isinstance(statement, Observe):
            self._observe(statement, way)
        elif isinstance(statement, If):
            return self._if(statement, way)
        elif isinstance(statement, Loop):
            return (
                self._elect_loop(statement, way) if statement.form == "elect" else self._loop(statement, way)
            )
        elif isinstance(statement, Jump):
            return self._leave(statement.kind, way)
        elif isinstance(statement, Switch):
            return self._switch(statement, way)
        elif isinstance(statement, Call):
            return self._call(statement, way)
        else:
            assert isinstance(statement, Effect)
        return way

    def _observe(self, statement: Observe, way: _Way) -> None:
        if statement.unpredictable:
            return
        certain = way.members if self._maximal else way.whole
        parts = tuple(part & way.members for part in self._parts if part & way.members)
        self._events.append(Event(statement.place, way.members, certain, parts if len(parts) > 1 else ()))

    def _merge(self, entered: _Way, arrived: int) -> _Way:
        """Return who goes on behind a merge block: groups are whole that entered whole and all arrive."""
        if self._maximal:
            return _Way(arrived, arrived)
        return _Way(arrived, entered.whole & ~self._fields.with_any(entered.whole & ~arrived))

    def _if(self, statement: If, way: _Way) -> _Way:
        if statement.unpredictable:
            return way
        assert isinstance(statement.condition, Condition)
        if communicates(statement.condition):
            # Otherwise nobody knows what the answer is made of.
            assert way.whole == way.members
            assert not self._parts
        holds = self._holds(statement.condition, way.members)
        then = self._block(statement.then, self._where(way, holds))
        otherwise = self._block(statement.otherwise, self._where(way, ~holds))
        return self._merge(way, then.members | otherwise.members)

    def _leave(self, kind: str, way: _Way) -> _Way:
        if kind == "return":
            self._returned.add(way)
        elif kind == "break":
            self._targets[-1].broken.add(way)
        else:
            next(target for target in reversed(self._targets) if target.is_loop).continued.add(way)
        return _Way()

    def _loop(self, loop: Loop, entered: _Way) -> _Way:
        """Run a loop whose number of trips is known; a "do" asks for it behind the body."""
        assert isinstance(loop.trips, Number)
        early = loop.form in ("while", "do")
        target = _Target(is_loop=True)
        self._targets.append(target)
        trip, way = 0, entered
        while True:
            if loop.form in ("for", "while") or (loop.form == "do" and trip):
                more = self._more(loop.trips, trip)
                target.broken.add(self._where(way, ~more))
                way = self._where(way, more)
            if not way.members:
                break
            self._counters[loop.number] = trip + 1 if early else trip
            way = self._block(loop.body, way)
            if loop.form == "endless":
                more = self._more(loop.trips, trip)
                target.broken.add(self._where(way, ~more))
                way = self._block(loop.rest, self._where(way, more))
            # The continue target: who continued and who came to the end of the body are together again.
            way.add(target.continued)
            target.continued = _Way()
            trip = self._step(loop, trip, way)
        self._targets.pop()
        return self._merge(entered, target.broken.members)

    def _elect_loop(self, loop: Loop, entered: _Way) -> _Way:
        if loop.unpredictable:
            if loop.exit == "break":
                return entered
            # One after the other returns, nobody knows when; so no group is whole.
            self._returned.add(_Way(entered.members))
            return _Way()
        target = _Target(is_loop=True)
        self._targets.append(target)
        trip, way = 0, entered
        while way.members:
            self._counters[loop.number] = trip
            way = self._block(loop.body, way)
            elected = self._holds(Elect(), way.members)
            leaving = self._block(loop.farewell, self._where(way, elected))
            self._leave(loop.exit, leaving)
            way = self._block(loop.rest, self._where(way, ~elected))
            trip = self._step(loop, trip, way)
        self._targets.pop()
        return self._merge(entered, target.broken.members)

    def _step(self, loop: Loop, trip: int, way: _Way) -> int:
        """Count a trip, and observe between it and the next, whose number is returned."""
        self._counters[loop.number] = trip + 1
        if loop.between is not None and way.members:
            self._observe(loop.between, way)
        return trip + 1

    def _switch(self, switch: Switch, entered: _Way) -> _Way:
        assert isinstance(switch.selector, Number)
        values = self._values(switch.selector)
        labelled = {label for case in switch.cases for label in case.labels}
        has_default = any(case.default for case in switch.cases)
        target, outer = _Target(), self._parts
        self._targets.append(target)
        arrived = 0
        if not has_default:
            for value, holds in values.items():
                arrived |= entered.members & holds if value not in labelled else 0
        falling = _Way()
        for case in switch.cases:
            way, falling = falling, _Way()
            for value, holds in values.items():
                if value in case.labels or (case.default and value not in labelled):
                    way.add(self._where(entered, holds))
            if self._maximal:
                self._parts = _split(outer, list(values.values()), way.members)
            way = self._block(case.body, way)
            if case.falls:
                falling = way
            else:
                arrived |= way.members
        self._parts = outer
        self._targets.pop()
        return self._merge(entered, arrived | falling.members | target.broken.members)

    def _call(self, call: Call, way: _Way) -> _Way:
        outer_returned, outer_targets = self._returned, self._targets
        self._returned, self._targets = _Way(), []
        way = self._block(self._functions[call.function], way)
        self._returned.add(way)
        way, self._returned, self._targets = self._returned, outer_returned, outer_targets
        if self._maximal:
            way.whole = way.members
        return way


def _split(parts: Parts, by: Sequence[int], members: int) -> Parts:
    """Return the parts of some invocations, split further; none where all of these are in one."""
    found = tuple(part & one & members for part in parts or (-1,) for one in by if part & one & members)
    return found if len(found) > 1 else ()
