"""Single constructs in which invocations part, and behind which they must be together.

They ask what the scripts ``subgroup_reconverge00`` to ``20`` of Khronos' suite ask, at more places: in the
arms and bodies too, where uniform control flow promises nothing and maximal reconvergence does.
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
    """Makes one construct: counts its places, and knows which groups the promise is about."""

    promise: Promise
    places: int = 0
    loops: int = 0
    even: Condition = field(init=False)

    def __post_init__(self) -> None:
        # Of the groups that the promise is about, some take another way as a whole.
        whole_workgroups = self.promise is Promise.WORKGROUP
        self.even = Uniform(value=True) if whole_workgroups else Not(SubgroupOdd())

    @property
    def odd(self) -> Condition:
        return Not(self.even)

    def see(self) -> Observe:
        """Observe who is here."""
        self.places += 1
        return Observe(self.places)

    def loop(self) -> int:
        """Return the number of a new loop."""
        self.loops += 1
        return self.loops

    def elect_loop(self, body: str) -> Loop:
        """Return a loop that one after the other leaves, elected."""
        unpredictable = self.promise is not Promise.MAXIMAL
        farewell = () if unpredictable else (self.see(),)
        return Loop(
            self.loop(), "elect", None, (Effect(body),), farewell=farewell, unpredictable=unpredictable
        )

    def first_or_not(self, first: str = "store", others: str = "own_atomic") -> If:
        """Let the first lane and the others do something different."""
        return If(_FIRST, (Effect(first), self.see()), (Effect(others), self.see()))

    def three_ways(self) -> Switch:
        """Let each invocation's data choose between three things to do."""
        return Switch(
            OfData(3),
            (
                Case((0, 1), (Effect("atomic"),)),
                Case((2,), (Effect("store"),)),
                Case((), (self.see(),), default=True),
            ),
        )


def _00(m: _Maker) -> Block:
    return (If(m.even, (m.first_or_not("store", "store"), m.see())),)


def _01(m: _Maker) -> Block:
    return (If(m.even, (Effect("spin_storing"), m.see())),)


def _02(m: _Maker) -> Block:
    return (If(m.even, (m.elect_loop("atomic"), m.see())),)


def _03(m: _Maker) -> Block:
    return (If(m.even, (m.first_or_not("exchange", "own_atomic"), m.see())), m.see())


def _04(m: _Maker) -> Block:
    return If(m.odd, (_RETURN,)), m.first_or_not(), m.see()


def _05(m: _Maker) -> Block:
    inner = If(DataBit(2), (m.see(), Effect("store")), (Effect("atomic"),))
    return If(m.odd, (Effect("store"), _RETURN)), inner, m.see()


def _06(m: _Maker) -> Block:
    spin = Loop(m.loop(), "endless", OfLane(16, 1), (Effect("store"),))
    return If(Uniform(value=False), (_RETURN,)), spin, m.see()


def _07(m: _Maker) -> Block:
    never = If(Uniform(value=False), (_RETURN,))
    return Loop(m.loop(), "endless", OfLane(16, 1), (never, m.see(), Effect("store"))), m.see()


def _08(m: _Maker) -> Block:
    loop = m.loop()
    body: Block = (
        If(m.odd, (_RETURN,)),
        Effect("own_atomic"),
        m.see(),
        If(TripIs(loop, 2), (m.see(), _BREAK)),
    )
    return Loop(loop, "for", Fixed(4), body), m.see()


def _09(m: _Maker) -> Block:
    inner = If(m.even, (If(_FIRST, (Effect("own_atomic"),)), m.see()))
    return Loop(m.loop(), "for", Fixed(1), (Effect("own_atomic"), inner)), m.see()


def _10(m: _Maker) -> Block:
    body: Block = (Effect("own_atomic"), If(m.odd, (_BREAK,)), If(_FIRST, (Effect("own_atomic"),)), m.see())
    return Loop(m.loop(), "for", Fixed(3), body), m.see()


def _11(m: _Maker) -> Block:
    body: Block = (
        Effect("own_atomic"),
        If(m.odd, (_CONTINUE,)),
        If(_FIRST, (Effect("own_atomic"),)),
        m.see(),
    )
    return Loop(m.loop(), "for", Fixed(3), body, between=m.see()), m.see()


def _12(m: _Maker) -> Block:
    return If(m.odd, (_RETURN,)), m.three_ways(), m.see()


def _13(m: _Maker) -> Block:
    ways = Switch(
        OfSubgroup(4),
        (Case((0, 1), (Effect("own_atomic"),)), Case((), (Effect("store"), m.see()), default=True)),
    )
    return If(m.odd, (_RETURN,)), ways, m.see()


def _14(m: _Maker) -> Block:
    ways = Switch(
        OfSubgroup(4),
        (
            Case((1,), (Effect("own_atomic"),), falls=True),
            Case((3,), (_RETURN,)),
            Case((), (Effect("exchange"), m.see()), default=True),
        ),
    )
    return ways, m.see()


def _15(m: _Maker) -> Block:
    ways = Switch(
        OfSubgroup(4),
        (
            Case((1,), (Effect("own_atomic"),)),
            Case((3,), (_RETURN,)),
            Case((), (m.three_ways(), m.see()), default=True),
        ),
    )
    return ways, m.see()


def _16(m: _Maker) -> Block:
    inner = If(Not(IndexFrom(64)), (If(_FIRST, (Effect("own_atomic"),)), m.see()))
    return Loop(m.loop(), "for", Fixed(4), (Effect("own_atomic"), inner)), m.see()


def _17(m: _Maker) -> Block:
    arms = [(Effect(kind), If(m.odd, (_RETURN,)), m.see()) for kind in ("store", "own_atomic")]
    return If(_FIRST, arms[0], arms[1]), m.see()


def _18(m: _Maker) -> Block:
    differs = Not(Vote(every=True, condition=DataBit(0)))
    return If(differs, (Effect("atomic"), If(DataBit(0), (m.see(), Effect("own_atomic"))), m.see())), m.see()


def _19(m: _Maker) -> Block:
    inner: Block = (
        Effect("atomic"), If(m.odd, (_RETURN,)), If(DataBit(1), (Effect("own_atomic"), m.see())), m.see()
    )  # fmt: skip
    return If(Vote(every=False, condition=DataBit(1)), inner), m.see()


def _20(m: _Maker) -> Block:
    exchanges = Loop(m.loop(), "for", Fixed(4), (Effect("exchange"), If(m.odd, (_RETURN,)), m.see()))
    fourth = If(LaneIn(8), (Effect("atomic"),), (Effect("own_atomic"), If(m.odd, (_RETURN,))))
    some = If(IndexFrom(5), (exchanges,), (fourth,))
    first = Switch(
        OfLane(4),
        (
            Case((0,), (Effect("own_atomic"), m.see())),
            Case((1, 2), (some,)),
            Case((), (If(m.odd, (_RETURN,)), Effect("own_atomic")), default=True),
        ),
    )
    store = If(DataBit(4), (Effect("store"),))
    second: Block = (Effect("store"), If(m.odd, (_RETURN,)), m.see(), Effect("spin"), store)
    last: Block = (If(m.odd, (_RETURN,)), m.see())
    return If(IndexFrom(64), (If(IndexFrom(96), last, second),), (first, m.see())), m.see()


@dataclass(frozen=True)
class Construct:
    """One construct.

    Attributes
    ----------
    make : returns the body of main.
    sentence : what must hold, to complete with the shape of the workgroups.
    votes : whether votes in it need ballots.
    """

    make: Callable[[_Maker], Block]
    sentence: str
    votes: bool = False


_ALL = "the invocations of a group that came to it together are together"

_TABLE = (
    Construct(_00, f"Behind a branch on the lane, itself in a branch on the group, {_ALL}"),
    Construct(_01, f"Behind a loop of stores until one is elected, {_ALL}"),
    Construct(_02, f"Behind an endless loop that the elected one leaves, {_ALL}"),
    Construct(_03, f"Behind a branch on the lane to stores in different memory, {_ALL}"),
    Construct(_04, f"Behind a branch on the lane, when other groups have returned, {_ALL}"),
    Construct(_05, f"Behind a branch on data, when other groups have returned, {_ALL}"),
    Construct(_06, f"Behind a loop of a different number of trips for each lane, {_ALL}"),
    Construct(_07, f"Behind such a loop with a return in it that nobody takes, {_ALL}"),
    Construct(_08, f"Behind a loop that some groups return from and the others break from, {_ALL}"),
    Construct(_09, f"Behind a branch on the lane in a branch on the group in a loop, {_ALL}"),
    Construct(_10, f"In a loop that other groups have left by break, behind a branch on the lane, {_ALL}"),
    Construct(_11, f"In a loop in which other groups continue, behind a branch on the lane, {_ALL}"),
    Construct(_12, f"Behind a switch on data, {_ALL}"),
    Construct(_13, f"Behind a switch on the group, when other groups have returned, {_ALL}"),
    Construct(_14, f"Behind a switch of which some groups fall through into a return, {_ALL}"),
    Construct(_15, f"Behind a switch on data in a switch on the group, {_ALL}"),
    Construct(_16, f"In each trip of a loop behind a branch on the lane in one on the index, {_ALL}"),
    Construct(_17, f"Behind a branch on the lane with returns of other groups in both arms, {_ALL}"),
    Construct(_18, f"Where votes find that data differ, behind a branch on them, {_ALL}", votes=True),
    Construct(_19, f"Where a vote finds one of some data, behind returns and a branch, {_ALL}", votes=True),
    Construct(_20, f"Behind branches, switches, loops and returns in each other, {_ALL}"),
)

CONSTRUCTS: dict[str, Construct] = {
    f"reconverge{number:02}": construct for number, construct in enumerate(_TABLE)
}
"""All by name."""


def build(name: str, promise: Promise, *, elect: bool, local: tuple[int, int, int], seed: int) -> Program:
    """Return the program of a construct, with an observation in front of it."""
    maker = _Maker(promise)
    body: list[Statement] = [maker.see(), *CONSTRUCTS[name].make(maker)]
    return Program(seed, promise, local, GROUPS, (), tuple(body), elect)
