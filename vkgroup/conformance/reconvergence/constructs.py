"""Single constructs in which invocations diverge and after which they must have reconverged.

They test what the scripts ``subgroup_reconverge00`` to ``20`` of the Vulkan CTS test, at more places: also in
branches and loop bodies, where maximal reconvergence guarantees more than uniform control flow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from vkgroup.programs.nodes import (
    Block,
    Condition,
    DataBit,
    Effect,
    Fixed,
    If,
    IndexFrom,
    Jump,
    LaneIn,
    Loop,
    Not,
    Observe,
    OfData,
    OfLane,
    OfSubgroup,
    ProgramFunction,
    Promise,
    RandomProgram,
    Statement,
    SubgroupOdd,
    Switch,
    SwitchCase,
    TripIs,
    UniformValue,
    Vote,
)

GROUPS = 2
"""Workgroups of a dispatch."""

_FIRST = LaneIn(1)
_BREAK, _CONTINUE, _RETURN = Jump("break"), Jump("continue"), Jump("return")
_STORE, _ATOMIC, _OWN, _EXCHANGE = map(Effect, ("store", "atomic", "own_atomic", "exchange"))
_FIRST_DIVERGES = If(_FIRST, (_OWN,))
_NEVER_RETURNS = If(UniformValue(value=False), (_RETURN,))


@dataclass
class Maker:
    """Maker of one construct; it numbers the observations and loops."""

    promise: Promise
    observations: int = 0
    loops: int = 0
    functions: list[ProgramFunction] = field(default_factory=list)

    @cached_property
    def even(self) -> Condition:
        """Condition that is uniform in each group of the guarantee, and true in some groups."""
        return UniformValue(value=True) if self.promise is Promise.WORKGROUP else Not(SubgroupOdd())

    def odd(self, *body: Statement) -> If:
        """Return a branch that the other groups take."""
        return If(Not(self.even), body)

    def observe(self) -> Observe:
        """Return a new observation."""
        self.observations += 1
        return Observe(self.observations)

    def loop(self) -> int:
        """Return the number of a new loop."""
        self.loops += 1
        return self.loops

    def first_or_not(self, first: Effect = _STORE, others: Effect = _OWN) -> If:
        """Return a branch in which the first lane and the others do something different."""
        return If(_FIRST, (first, self.observe()), (others, self.observe()))

    def three_ways(self) -> Switch:
        """Return a switch over the data with three different side effects."""
        cases = (SwitchCase((0, 1), (_ATOMIC,)), SwitchCase((2,), (_STORE,)), _default(self.observe()))
        return Switch(OfData(3), cases)


def _default(*body: Statement) -> SwitchCase:
    return SwitchCase((), body, default=True)


@dataclass(frozen=True)
class Construct:
    """One construct."""

    make: Callable[[Maker], Block]  # returns the body of main
    sentence: str  # requirement; the shape of the workgroups is appended
    votes: bool = False  # whether it has votes, which require ballots


CONSTRUCTS: dict[str, Construct] = {}
"""All constructs by name."""


def _construct(
    when: str, *, votes: bool = False
) -> Callable[[Callable[[Maker], Block]], Callable[[Maker], Block]]:
    """Return a decorator that adds a construct to the table; `when` begins its sentence."""

    def add(make: Callable[[Maker], Block]) -> Callable[[Maker], Block]:
        sentence = f"{when}, the invocations of a group that reached it together are together"
        CONSTRUCTS[f"reconverge{len(CONSTRUCTS):02}"] = Construct(make, sentence, votes)
        return make

    return add


@_construct("After a branch on the lane inside a branch on the group")
def _lane_branch_in_group_branch(m: Maker) -> Block:
    return (If(m.even, (m.first_or_not(_STORE, _STORE), m.observe())),)


@_construct("After a loop of stores that ends by an election")
def _storing_loop_until_elected(m: Maker) -> Block:
    return (If(m.even, (Effect("spin_storing"), m.observe())),)


@_construct("After an endless loop that the elected invocation leaves")
def _endless_loop_left_by_elected(m: Maker) -> Block:
    unpredictable, number = m.promise is not Promise.MAXIMAL, m.loop()
    before_exit = () if unpredictable else (m.observe(),)
    loop = Loop(number, "elect", None, (_ATOMIC,), before_exit=before_exit, unpredictable=unpredictable)
    return (If(m.even, (loop, m.observe())),)


@_construct("After a branch on the lane to stores in different memory")
def _lane_branch_to_different_memory(m: Maker) -> Block:
    return (If(m.even, (m.first_or_not(_EXCHANGE, _OWN), m.observe())), m.observe())


@_construct("After a branch on the lane, after other groups have returned")
def _lane_branch_after_returns(m: Maker) -> Block:
    return m.odd(_RETURN), m.first_or_not(), m.observe()


@_construct("After a branch on data, after other groups have returned")
def _data_branch_after_returns(m: Maker) -> Block:
    inner = If(DataBit(2), (m.observe(), _STORE), (_ATOMIC,))
    return m.odd(_STORE, _RETURN), inner, m.observe()


@_construct("After a loop of a different number of trips for each lane")
def _loop_with_trips_per_lane(m: Maker) -> Block:
    return _NEVER_RETURNS, Loop(m.loop(), "endless", OfLane(16, 1), (_STORE,)), m.observe()


@_construct("After such a loop with a return in it that is never taken")
def _loop_with_return_never_taken(m: Maker) -> Block:
    body = (_NEVER_RETURNS, m.observe(), _STORE)
    return Loop(m.loop(), "endless", OfLane(16, 1), body), m.observe()


@_construct("After a loop that some groups leave by return and the others by break")
def _loop_left_by_return_or_break(m: Maker) -> Block:
    loop = m.loop()
    body = (m.odd(_RETURN), _OWN, m.observe(), If(TripIs(loop, 2), (m.observe(), _BREAK)))
    return Loop(loop, "for", Fixed(4), body), m.observe()


@_construct("After a branch on the lane in a branch on the group in a loop")
def _lane_branch_in_group_branch_in_loop(m: Maker) -> Block:
    inner = If(m.even, (_FIRST_DIVERGES, m.observe()))
    return Loop(m.loop(), "for", Fixed(1), (_OWN, inner)), m.observe()


@_construct("In a loop that other groups have left by break, after a branch on the lane")
def _loop_after_breaks(m: Maker) -> Block:
    body = (_OWN, m.odd(_BREAK), _FIRST_DIVERGES, m.observe())
    return Loop(m.loop(), "for", Fixed(3), body), m.observe()


@_construct("In a loop in which other groups continue, after a branch on the lane")
def _loop_after_continues(m: Maker) -> Block:
    body = (_OWN, m.odd(_CONTINUE), _FIRST_DIVERGES, m.observe())
    return Loop(m.loop(), "for", Fixed(3), body, between=m.observe()), m.observe()


@_construct("After a switch on data")
def _data_switch(m: Maker) -> Block:
    return m.odd(_RETURN), m.three_ways(), m.observe()


@_construct("After a switch on the group, after other groups have returned")
def _group_switch_after_returns(m: Maker) -> Block:
    ways = Switch(OfSubgroup(4), (SwitchCase((0, 1), (_OWN,)), _default(_STORE, m.observe())))
    return m.odd(_RETURN), ways, m.observe()


@_construct("After a switch in which some groups fall through into a return")
def _group_switch_falling_into_return(m: Maker) -> Block:
    falling, returning = SwitchCase((1,), (_OWN,), falls=True), SwitchCase((3,), (_RETURN,))
    ways = Switch(OfSubgroup(4), (falling, returning, _default(_EXCHANGE, m.observe())))
    return ways, m.observe()


@_construct("After a switch on data in a switch on the group")
def _data_switch_in_group_switch(m: Maker) -> Block:
    cases = (SwitchCase((1,), (_OWN,)), SwitchCase((3,), (_RETURN,)), _default(m.three_ways(), m.observe()))
    return Switch(OfSubgroup(4), cases), m.observe()


@_construct("In each trip of a loop, after a branch on the lane in a branch on the index")
def _lane_branch_in_index_branch_in_loop(m: Maker) -> Block:
    inner = If(Not(IndexFrom(64)), (_FIRST_DIVERGES, m.observe()))
    return Loop(m.loop(), "for", Fixed(4), (_OWN, inner)), m.observe()


@_construct("After a branch on the lane with returns of other groups in both arms")
def _lane_branch_with_returns_in_both_arms(m: Maker) -> Block:
    arms = [(effect, m.odd(_RETURN), m.observe()) for effect in (_STORE, _OWN)]
    return If(_FIRST, arms[0], arms[1]), m.observe()


@_construct("In a branch on a vote that data differ, after a branch on the data", votes=True)
def _branch_on_vote_all(m: Maker) -> Block:
    inner = If(DataBit(0), (m.observe(), _OWN))
    differs = Not(Vote(every=True, condition=DataBit(0)))
    return If(differs, (_ATOMIC, inner, m.observe())), m.observe()


@_construct(
    "In a branch on a vote that some data have a bit, after returns and a branch on the bit", votes=True
)
def _branch_on_vote_any(m: Maker) -> Block:
    inner = (_ATOMIC, m.odd(_RETURN), If(DataBit(1), (_OWN, m.observe())), m.observe())
    return If(Vote(every=False, condition=DataBit(1)), inner), m.observe()


@_construct("After nested branches, switches, loops and returns")
def _nested_constructs(m: Maker) -> Block:
    exchanges = Loop(m.loop(), "for", Fixed(4), (_EXCHANGE, m.odd(_RETURN), m.observe()))
    fourth = If(LaneIn(8), (_ATOMIC,), (_OWN, m.odd(_RETURN)))
    first = Switch(
        OfLane(4),
        (
            SwitchCase((0,), (_OWN, m.observe())),
            SwitchCase((1, 2), (If(IndexFrom(5), (exchanges,), (fourth,)),)),
            _default(m.odd(_RETURN), _OWN),
        ),
    )
    store = If(DataBit(4), (_STORE,))
    second = (_STORE, m.odd(_RETURN), m.observe(), Effect("spin"), store)
    last = (m.odd(_RETURN), m.observe())
    return If(IndexFrom(64), (If(IndexFrom(96), last, second),), (first, m.observe())), m.observe()


def build(
    construct: Construct, promise: Promise, *, elect: bool, local: tuple[int, int, int], seed: int
) -> RandomProgram:
    """Return the program of a construct, with an observation before it."""
    maker = Maker(promise)
    body: list[Statement] = [maker.observe(), *construct.make(maker)]
    return RandomProgram(seed, promise, local, GROUPS, tuple(maker.functions), tuple(body), elect)
