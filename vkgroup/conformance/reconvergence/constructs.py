"""Single constructs in which invocations diverge and after which they must have reconverged.

They test what the scripts ``subgroup_reconverge00`` to ``20`` of the Vulkan CTS test, at more places: also in
branches and loop bodies, where maximal reconvergence guarantees more than uniform control flow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vkgroup.programs.nodes import (
    Block,
    Case,
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
    Program,
    Promise,
    Statement,
    SubgroupOdd,
    Switch,
    TripIs,
    Uniform,
    Vote,
)

GROUPS = 2
"""Workgroups of a dispatch."""

_FIRST = LaneIn(1)
_BREAK, _CONTINUE, _RETURN = Jump("break"), Jump("continue"), Jump("return")


@dataclass
class _Maker:
    """Maker of one construct; it numbers the observations and loops.

    Attributes
    ----------
    even : condition that holds in some of the groups that the promise concerns, in each for all invocations.
    """

    promise: Promise
    observations: int = 0
    loops: int = 0
    even: Condition = field(init=False)

    def __post_init__(self) -> None:
        whole_workgroups = self.promise is Promise.WORKGROUP
        self.even = Uniform(value=True) if whole_workgroups else Not(SubgroupOdd())

    @property
    def odd(self) -> Condition:
        return Not(self.even)

    def observe(self) -> Observe:
        """Return a new observation."""
        self.observations += 1
        return Observe(self.observations)

    def loop(self) -> int:
        """Return the number of a new loop."""
        self.loops += 1
        return self.loops

    def elect_loop(self, body: str) -> Loop:
        """Return a loop that elected invocations leave one by one."""
        unpredictable = self.promise is not Promise.MAXIMAL
        farewell = () if unpredictable else (self.observe(),)
        return Loop(
            self.loop(), "elect", None, (Effect(body),), farewell=farewell, unpredictable=unpredictable
        )

    def first_or_not(self, first: str = "store", others: str = "own_atomic") -> If:
        """Return a branch in which the first lane and the others do something different."""
        return If(_FIRST, (Effect(first), self.observe()), (Effect(others), self.observe()))

    def three_ways(self) -> Switch:
        """Return a switch over the data with three different side effects."""
        return Switch(
            OfData(3),
            (
                Case((0, 1), (Effect("atomic"),)),
                Case((2,), (Effect("store"),)),
                Case((), (self.observe(),), default=True),
            ),
        )


_Make = Callable[[_Maker], Block]


@dataclass(frozen=True)
class Construct:
    """One construct.

    Attributes
    ----------
    make : returns the body of main.
    sentence : requirement, to be completed with the shape of the workgroups.
    votes : whether it has votes, which need ballots.
    """

    make: _Make
    sentence: str
    votes: bool = False


_ALL = "the invocations of a group that reached it together are together"

CONSTRUCTS: dict[str, Construct] = {}
"""All constructs by name."""


def _construct(sentence: str, *, votes: bool = False) -> Callable[[_Make], _Make]:
    """Return a decorator that adds a construct to the table; `sentence` says after what they are together."""

    def add(make: _Make) -> _Make:
        CONSTRUCTS[f"reconverge{make.__name__[1:]}"] = Construct(make, f"{sentence}, {_ALL}", votes)
        return make

    return add


@_construct("After a branch on the lane inside a branch on the group")
def _00(m: _Maker) -> Block:
    return (If(m.even, (m.first_or_not("store", "store"), m.observe())),)


@_construct("After a loop of stores that ends by an election")
def _01(m: _Maker) -> Block:
    return (If(m.even, (Effect("spin_storing"), m.observe())),)


@_construct("After an endless loop that the elected invocation leaves")
def _02(m: _Maker) -> Block:
    return (If(m.even, (m.elect_loop("atomic"), m.observe())),)


@_construct("After a branch on the lane to stores in different memory")
def _03(m: _Maker) -> Block:
    return (If(m.even, (m.first_or_not("exchange", "own_atomic"), m.observe())), m.observe())


@_construct("After a branch on the lane, after other groups have returned")
def _04(m: _Maker) -> Block:
    return If(m.odd, (_RETURN,)), m.first_or_not(), m.observe()


@_construct("After a branch on data, after other groups have returned")
def _05(m: _Maker) -> Block:
    inner = If(DataBit(2), (m.observe(), Effect("store")), (Effect("atomic"),))
    return If(m.odd, (Effect("store"), _RETURN)), inner, m.observe()


@_construct("After a loop of a different number of trips for each lane")
def _06(m: _Maker) -> Block:
    spin = Loop(m.loop(), "endless", OfLane(16, 1), (Effect("store"),))
    return If(Uniform(value=False), (_RETURN,)), spin, m.observe()


@_construct("After such a loop with a return in it that is never taken")
def _07(m: _Maker) -> Block:
    never = If(Uniform(value=False), (_RETURN,))
    return Loop(m.loop(), "endless", OfLane(16, 1), (never, m.observe(), Effect("store"))), m.observe()


@_construct("After a loop that some groups leave by return and the others by break")
def _08(m: _Maker) -> Block:
    loop = m.loop()
    body: Block = (
        If(m.odd, (_RETURN,)),
        Effect("own_atomic"),
        m.observe(),
        If(TripIs(loop, 2), (m.observe(), _BREAK)),
    )
    return Loop(loop, "for", Fixed(4), body), m.observe()


@_construct("After a branch on the lane in a branch on the group in a loop")
def _09(m: _Maker) -> Block:
    inner = If(m.even, (If(_FIRST, (Effect("own_atomic"),)), m.observe()))
    return Loop(m.loop(), "for", Fixed(1), (Effect("own_atomic"), inner)), m.observe()


@_construct("In a loop that other groups have left by break, after a branch on the lane")
def _10(m: _Maker) -> Block:
    body: Block = (
        Effect("own_atomic"),
        If(m.odd, (_BREAK,)),
        If(_FIRST, (Effect("own_atomic"),)),
        m.observe(),
    )
    return Loop(m.loop(), "for", Fixed(3), body), m.observe()


@_construct("In a loop in which other groups continue, after a branch on the lane")
def _11(m: _Maker) -> Block:
    body: Block = (
        Effect("own_atomic"),
        If(m.odd, (_CONTINUE,)),
        If(_FIRST, (Effect("own_atomic"),)),
        m.observe(),
    )
    return Loop(m.loop(), "for", Fixed(3), body, between=m.observe()), m.observe()


@_construct("After a switch on data")
def _12(m: _Maker) -> Block:
    return If(m.odd, (_RETURN,)), m.three_ways(), m.observe()


@_construct("After a switch on the group, after other groups have returned")
def _13(m: _Maker) -> Block:
    ways = Switch(
        OfSubgroup(4),
        (Case((0, 1), (Effect("own_atomic"),)), Case((), (Effect("store"), m.observe()), default=True)),
    )
    return If(m.odd, (_RETURN,)), ways, m.observe()


@_construct("After a switch in which some groups fall through into a return")
def _14(m: _Maker) -> Block:
    ways = Switch(
        OfSubgroup(4),
        (
            Case((1,), (Effect("own_atomic"),), falls=True),
            Case((3,), (_RETURN,)),
            Case((), (Effect("exchange"), m.observe()), default=True),
        ),
    )
    return ways, m.observe()


@_construct("After a switch on data in a switch on the group")
def _15(m: _Maker) -> Block:
    ways = Switch(
        OfSubgroup(4),
        (
            Case((1,), (Effect("own_atomic"),)),
            Case((3,), (_RETURN,)),
            Case((), (m.three_ways(), m.observe()), default=True),
        ),
    )
    return ways, m.observe()


@_construct("In each trip of a loop, after a branch on the lane in a branch on the index")
def _16(m: _Maker) -> Block:
    inner = If(Not(IndexFrom(64)), (If(_FIRST, (Effect("own_atomic"),)), m.observe()))
    return Loop(m.loop(), "for", Fixed(4), (Effect("own_atomic"), inner)), m.observe()


@_construct("After a branch on the lane with returns of other groups in both arms")
def _17(m: _Maker) -> Block:
    arms = [(Effect(kind), If(m.odd, (_RETURN,)), m.observe()) for kind in ("store", "own_atomic")]
    return If(_FIRST, arms[0], arms[1]), m.observe()


@_construct("In a branch on a vote that data differ, after a branch on the data", votes=True)
def _18(m: _Maker) -> Block:
    differs = Not(Vote(every=True, condition=DataBit(0)))
    return If(
        differs, (Effect("atomic"), If(DataBit(0), (m.observe(), Effect("own_atomic"))), m.observe())
    ), m.observe()


@_construct(
    "In a branch on a vote that some data have a bit, after returns and a branch on the bit",
    votes=True,
)
def _19(m: _Maker) -> Block:
    inner: Block = (
        Effect("atomic"),
        If(m.odd, (_RETURN,)),
        If(DataBit(1), (Effect("own_atomic"), m.observe())),
        m.observe(),
    )  # fmt: skip
    return If(Vote(every=False, condition=DataBit(1)), inner), m.observe()


@_construct("After nested branches, switches, loops and returns")
def _20(m: _Maker) -> Block:
    exchanges = Loop(m.loop(), "for", Fixed(4), (Effect("exchange"), If(m.odd, (_RETURN,)), m.observe()))
    fourth = If(LaneIn(8), (Effect("atomic"),), (Effect("own_atomic"), If(m.odd, (_RETURN,))))
    some = If(IndexFrom(5), (exchanges,), (fourth,))
    first = Switch(
        OfLane(4),
        (
            Case((0,), (Effect("own_atomic"), m.observe())),
            Case((1, 2), (some,)),
            Case((), (If(m.odd, (_RETURN,)), Effect("own_atomic")), default=True),
        ),
    )
    store = If(DataBit(4), (Effect("store"),))
    second: Block = (Effect("store"), If(m.odd, (_RETURN,)), m.observe(), Effect("spin"), store)
    last: Block = (If(m.odd, (_RETURN,)), m.observe())
    return If(IndexFrom(64), (If(IndexFrom(96), last, second),), (first, m.observe())), m.observe()


def build(name: str, promise: Promise, *, elect: bool, local: tuple[int, int, int], seed: int) -> Program:
    """Return the program of a construct, with an observation before it."""
    maker = _Maker(promise)
    body: list[Statement] = [maker.observe(), *CONSTRUCTS[name].make(maker)]
    return Program(seed, promise, local, GROUPS, (), tuple(body), elect)
