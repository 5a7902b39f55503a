"""Waterfall loops, and loops with subgroup operations in the blocks that leave them.

In a waterfall loop the invocations that have the first one's value do something together and leave; the
others stay for the next trip. Front ends moved such operations out of the loop or into it
(DirectXShaderCompiler 6222, 6109 and 241, SPIRV-Tools 5557, slang 6839, llvm-project 164496).
"""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.conformance.reconvergence.constructs import Construct, Maker
from vkgroup.programs.nodes import (
    Block,
    Condition,
    DataBit,
    Effect,
    Fixed,
    FunctionCall,
    If,
    Jump,
    LaneIn,
    Loop,
    Observe,
    OfData,
    OfLane,
    ProgramFunction,
    SameAsFirst,
    TripIs,
    Vote,
)

_BY_DATA, _BY_LANE = SameAsFirst(OfData(0)), SameAsFirst(OfLane(3))
_STORE, _BREAK = Effect("store"), Jump("break")

WATERFALLS: dict[str, Construct] = {}
"""All loops by name; the last two are counted loops, which a subgroup operation leaves."""


def _waterfall(sentence: str) -> Callable[[Callable[[Maker], Block]], Callable[[Maker], Block]]:
    """Return a decorator that adds a loop to the table under its function's name."""

    def add(make: Callable[[Maker], Block]) -> Callable[[Maker], Block]:
        WATERFALLS[make.__name__.removeprefix("_")] = Construct(make, sentence)
        return make

    return add


def _loop(
    m: Maker,
    exit_condition: Condition | None,
    *,
    body: Block = (),
    before_exit: Block = (),
    rest: Block = (),
    leave: str = "break",
    between: Observe | None = None,
    carried: Observe | None = None,
) -> Loop:
    """Return a loop that the invocations of a condition leave together; None for the elected one."""
    return Loop(
        m.loop(),
        "elect",
        None,
        body,
        rest,
        before_exit,
        leave,
        between=between,
        exit_condition=exit_condition,
        carried=carried,
    )


@_waterfall("Where a waterfall loop is left, the invocations with the first one's value are together")
def _by_value(m: Maker) -> Block:
    return _loop(m, _BY_DATA, before_exit=(m.observe(),)), m.observe()


@_waterfall("A ballot in the block that leaves a waterfall loop, used after it, has those that left then")
def _used_after(m: Maker) -> Block:
    return _loop(m, _BY_DATA, body=(_STORE,), carried=m.observe()), m.observe()


@_waterfall("A ballot in the block of the elected invocation, used after the loop, has only that invocation")
def _used_after_election(m: Maker) -> Block:
    return _loop(m, None, carried=m.observe()), m.observe()


@_waterfall("In a waterfall loop, those that stay are together when the others have left")
def _staying(m: Maker) -> Block:
    body, rest, before_exit = (m.observe(),), (_STORE, m.observe()), (m.observe(),)
    return _loop(m, _BY_LANE, body=body, rest=rest, before_exit=before_exit, between=m.observe()), m.observe()


@_waterfall("In a waterfall loop inside another, those with both first values are together")
def _nested(m: Maker) -> Block:
    inner = _loop(m, _BY_LANE, rest=(m.observe(),), before_exit=(m.observe(),))
    return _loop(m, _BY_DATA, before_exit=(inner, m.observe())), m.observe()


@_waterfall("After a waterfall loop in a branch, those that took the branch are together, and all after it")
def _in_a_branch(m: Maker) -> Block:
    loop = _loop(m, _BY_LANE, before_exit=(m.observe(),), carried=m.observe())
    return If(DataBit(4), (loop, m.observe()), (m.observe(),)), m.observe()


@_waterfall("After a function that a waterfall loop leaves by return, its callers are together")
def _left_by_return(m: Maker) -> Block:
    loop = _loop(m, _BY_DATA, rest=(_STORE,), before_exit=(m.observe(),), leave="return")
    m.functions.append(ProgramFunction(0, (loop,)))
    return FunctionCall(0), m.observe()


@_waterfall("In a waterfall loop that one invocation leaves by another break, the rest is together")
def _with_another_break(m: Maker) -> Block:
    body = (If(LaneIn(2), (m.observe(), _BREAK)), m.observe())
    return _loop(m, _BY_DATA, body=body, before_exit=(m.observe(),)), m.observe()


@_waterfall("After two waterfall loops, one after the other, all invocations are together")
def _one_after_the_other(m: Maker) -> Block:
    first = _loop(m, _BY_DATA, before_exit=(m.observe(),))
    between = m.observe()
    return first, between, _loop(m, _BY_LANE, before_exit=(m.observe(),)), m.observe()


@_waterfall("In a loop in the block that leaves a waterfall loop, those that left together are together")
def _with_a_loop_inside(m: Maker) -> Block:
    inner = Loop(m.loop(), "for", OfLane(4, 1), (_STORE, m.observe()))
    return _loop(m, _BY_DATA, before_exit=(inner, m.observe())), m.observe()


@_waterfall("In the block with which each lane leaves a counted loop in its trip, it is alone")
def _lane_by_lane(m: Maker) -> Block:
    number = m.loop()
    body = (If(TripIs(number), (m.observe(), _BREAK)), m.observe())
    return Loop(number, "for", Fixed(4), body), m.observe()


@_waterfall("In a block that leaves a counted loop on a vote, those that voted are together")
def _on_a_vote(m: Maker) -> Block:
    number = m.loop()
    agreed = If(Vote(every=False, condition=TripIs(number)), (m.observe(), _BREAK))
    return If(DataBit(1), (Loop(number, "for", Fixed(6), (agreed, m.observe())),)), m.observe()
