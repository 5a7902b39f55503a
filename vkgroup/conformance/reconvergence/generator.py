"""Random programs that part and join invocations in every way that GLSL has.

Where nothing says who is together (under uniform control flow: nearly everywhere after a divergent branch),
an election has no known outcome. What depends on it is *loose*: such constructs are left by all at their end,
and what is observed in them is not compared. So every invocation's log is known but for the masks in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from vkgroup.conformance.dice import Dice
from vkgroup.conformance.reconvergence.glsl import WORK
from vkgroup.conformance.reconvergence.nodes import (
    Block,
    Call,
    Case,
    Condition,
    DataBit,
    Elect,
    Fixed,
    If,
    IndexFrom,
    LaneIn,
    Leave,
    Loop,
    Not,
    Number,
    Observe,
    OfData,
    OfLane,
    OfSubgroup,
    OfTrip,
    Program,
    Promise,
    Statement,
    SubgroupOdd,
    Switch,
    TripIs,
    Uniform,
    Vote,
    Work,
)

LOCAL_SIZES = (
    (7, 13, 1), (64, 1, 1), (32, 1, 1), (5, 5, 5), (128, 1, 1), (37, 1, 1), (8, 12, 1), (61, 2, 1),
)  # fmt: skip
"""Shapes of workgroups, by the number of a case's group: whole and partial subgroups, 1 to 3 dimensions."""

GROUPS = 2
"""Workgroups of a dispatch."""

MOST_ENTRIES = 300
"""About how many entries of the log one invocation may write; trips multiply."""

_DEEPEST_LOOP = 3
_FEWEST_PLACES = 6

# What a loop multiplies by, in subgroups of 32.
_ELECT_TRIPS, _LANE_TRIPS = 16, 32


@dataclass
class _Budget:
    """What is left of a program."""

    statements: int
    entries: float = MOST_ENTRIES


@dataclass(frozen=True)
class _Scope:
    """Where statements go.

    Attributes
    ----------
    depth : constructs around.
    weight : about how often a statement here is executed.
    loose : whether it depends on elections without a known outcome who comes here.
    together : whether elections have a known outcome here, or else may be loose.
    breakable, continuable, returnable : what may be left from here.
    loops : numbers of the loops of this function around.
    in_function : whether this is in a function.
    """

    depth: int = 0
    weight: float = 1.0
    loose: bool = False
    together: bool = True
    breakable: bool = False
    continuable: bool = False
    returnable: bool = True
    loops: tuple[int, ...] = ()
    in_function: bool = False


@dataclass(frozen=True)
class _Made:
    """A function, and where a call of it may stand."""

    number: int
    entries: float
    loose: bool
    together: bool


class _Generator:
    """Makes one program; the order of its choices is part of its seed."""

    def __init__(self, dice: Dice, promise: Promise, elect: bool, nesting: int, invocations: int) -> None:
        self.dice, self.promise, self.elect, self.nesting = dice, promise, elect, nesting
        self.invocations = invocations
        self.maximal = promise is Promise.MAXIMAL
        self.masks = [sum(dice.below(1 << 16) << 16 * part for part in range(8)) for _ in range(5)]
        self.budget = _Budget(8 + 4 * nesting)
        self.functions: list[Block] = []
        self.made: list[_Made] = []
        self.places = self.loops = 0

    # Blocks

    def main(self) -> Block:
        """Make the body of main: constructs with observations between them, however long it takes."""
        statements: list[Statement] = [self.observation(_Scope())]
        while self.budget.statements > 0 or self.places < _FEWEST_PLACES:
            self.budget.statements -= 1
            statements.append(self.construct(_Scope()))
            self.budget.entries = max(self.budget.entries, 1.0)
            statements.append(self.observation(_Scope()))
        return tuple(statements)

    def block(self, scope: _Scope, longest: int = 2) -> Block:
        """Make some constructs with observations around them."""
        statements: list[Statement] = []
        for _ in range(self.dice.between(1, longest)):
            self.budget.statements -= 1
            statements += self.seen(scope, 0.4)
            statements.append(self.construct(scope))
            if isinstance(statements[-1], Leave) and self.dice.chance(0.8):
                return tuple(statements)
            statements += self.seen(scope, 0.4)
        return tuple(statements)

    def observation(self, scope: _Scope) -> Observe:
        self.places += 1
        self.budget.entries -= 0 if scope.loose else scope.weight
        return Observe(self.places, scope.loose)

    def seen(self, scope: _Scope, chance: float) -> list[Statement]:
        """Return an observation, or nothing."""
        affordable = scope.loose or self.budget.entries >= scope.weight
        return [self.observation(scope)] if affordable and self.dice.chance(chance) else []

    def construct(self, scope: _Scope) -> Statement:
        """Make one statement."""
        nests = 1.0 if scope.depth < self.nesting and self.budget.statements > -2 * self.nesting else 0.0
        loops = nests if len(scope.loops) < _DEEPEST_LOOP and scope.weight < 100 else 0.0
        elects = loops if scope.together and scope.weight < 20 else 0.0
        calls = nests if not scope.in_function and scope.depth < self.nesting - 1 else 0.0
        make = self.dice.weighted(
            (
                (self.simple, 0.6),
                (self.branch, 3.0 * nests),
                (self.elect_branch, 0.7 * nests * scope.together),
                (self.loop, 2.0 * loops),
                (self.elect_loop, 1.0 * elects),
                (self.switch, 1.3 * nests),
                (self.call, 0.8 * calls),
                (self.leave, 1.6 * bool(self.ways_out(scope))),
            )
        )
        return make(scope)

    def simple(self, scope: _Scope) -> Statement:
        return Work(self.dice.choose(tuple(WORK)))

    # Conditions

    def condition(self, scope: _Scope) -> Condition:
        """Make a condition that parts invocations, or does not."""
        options: list[tuple[Condition, float]] = [
            (LaneIn(self.dice.choose(self.masks)), 3.0),
            (DataBit(self.dice.below(31)), 1.5),
            (IndexFrom(self.dice.below(self.invocations)), 2.0),
            (SubgroupOdd(), 0.7),
            (Uniform(self.dice.chance(0.75)), 2.0),
        ]
        found = self.dice.weighted(options)
        if scope.loops and self.dice.chance(0.25):
            value = self.dice.below(3) if self.dice.chance(0.4) else None
            found = TripIs(self.dice.choose(scope.loops), value)
        if self.dice.chance(0.2):
            found = Not(found)
        if self.maximal and scope.together and self.dice.chance(0.1):
            found = Vote(self.dice.chance(0.5), found)
        return found

    def branch(self, scope: _Scope) -> Statement:
        inside = replace(scope, depth=scope.depth + 1)
        condition, then = self.condition(scope), self.block(inside)
        if self.dice.chance(0.5):
            return If(condition, then)
        # Now and then the same again, for compilers that join what is equal.
        return If(condition, then, then if self.dice.chance(0.2) else self.block(inside))

    def elect_branch(self, scope: _Scope) -> Statement:
        inside = replace(scope, depth=scope.depth + 1)
        if not self.maximal and not scope.loose:
            inside = replace(inside, loose=True, breakable=False, continuable=False, returnable=False)
        then = self.block(inside)
        otherwise = self.block(inside) if self.dice.chance(0.3) else ()
        return If(Elect(), then, otherwise, loose=inside.loose)

    # Loops

    def loop(self, scope: _Scope) -> Statement:
        self.loops += 1
        number = self.loops
        trips, weight = self.trips(scope)
        inside = replace(
            scope, depth=scope.depth + 1, weight=scope.weight * weight, breakable=True, continuable=True,
            loops=(*scope.loops, number),
        )  # fmt: skip
        form = self.dice.choose(("for", "for", "while", "do", "do", "endless"))
        # Who continues in front of the only exit never ends.
        body = self.block(replace(inside, continuable=form != "endless"))
        rest = self.block(inside) if form == "endless" else ()
        between = self.seen(inside, 0.3) if form in ("for", "endless") else []
        return Loop(number, form, trips, body, rest, between=_only(between))

    def trips(self, scope: _Scope) -> tuple[Number, float]:
        """Return a number of trips, and about how many these are."""
        options: list[tuple[tuple[Number, float], float]] = [
            ((Fixed(self.dice.between(1, 4)), 2.5), 2.0),
            ((OfLane(self.dice.between(2, 5), self.dice.below(2)), 2.5), 1.5),
            ((OfData(self.dice.below(30)), 1.5), 1.0),
            ((OfSubgroup(self.dice.between(2, 4)), 1.5), 0.5),
        ]
        if not scope.loops and scope.weight * _LANE_TRIPS <= self.budget.entries:
            options.append(((OfLane(128, 1), _LANE_TRIPS), 0.5))
        return self.dice.weighted(options)

    def elect_loop(self, scope: _Scope) -> Statement:
        self.loops += 1
        number = self.loops
        loose = scope.loose or not self.maximal
        returns = scope.in_function and scope.returnable and not scope.loose and self.dice.chance(0.3)
        inside = replace(
            scope, depth=scope.depth + 1, weight=scope.weight * _ELECT_TRIPS, loose=loose,
            breakable=not (loose and returns), continuable=False,
            returnable=scope.returnable and not loose, loops=(*scope.loops, number),
        )  # fmt: skip
        return Loop(
            number, "elect", None, self.block(inside, 1),
            rest=self.block(inside, 1),
            farewell=tuple(self.seen(replace(inside, weight=scope.weight), 0.7)),
            exit="return" if returns else "break",
            between=_only(self.seen(inside, 0.5)),
            loose=loose,
        )  # fmt: skip

    # Switches

    def switch(self, scope: _Scope) -> Statement:
        inside = replace(scope, depth=scope.depth + 1, breakable=True)
        if scope.loops and self.dice.chance(0.3):
            loop = self.dice.choose(scope.loops)
            first, second = (Case((value,), self.block(inside, 1)) for value in (1, 2))
            return Switch(OfTrip(loop), (first, second, Case((), self.block(inside, 1), default=True)))
        if self.dice.chance(0.3):
            return self.uniform_switch(inside)
        # Only those of one value, among whom nobody falls, are together under maximal reconvergence.
        apart = replace(inside, together=inside.together and not self.maximal)
        selectors: list[tuple[Number, float]] = [
            (OfLane(4), 3.0), (OfData(self.dice.below(30)), 2.0), (OfSubgroup(4), 0.7)
        ]  # fmt: skip
        selector = self.dice.weighted(selectors)
        kind = self.dice.choose(("sharp", "sharp", "merged", "falling", "default"))
        if kind == "sharp":
            return Switch(selector, tuple(Case((value,), self.block(inside, 1)) for value in range(4)))
        if kind == "merged":
            return Switch(selector, tuple(Case(pair, self.block(apart)) for pair in ((0, 1), (2, 3))))
        if kind == "falling":
            return Switch(
                selector,
                (
                    Case((2,), self.block(inside, 1), falls=True),
                    Case((0,), self.block(apart, 1), falls=self.dice.chance(0.5)),
                    Case((3,), self.block(apart, 1)),
                ),
            )
        one = Case((1,), self.block(inside, 1))
        return Switch(selector, (one, Case((), self.block(apart, 1), default=True)))

    def uniform_switch(self, inside: _Scope) -> Statement:
        """Make a switch of which everybody takes the second case."""
        value = self.dice.below(5)
        nobody = replace(inside, weight=0.0)
        falls = self.dice.chance(0.3)
        return Switch(
            Fixed(value),
            (
                Case((value + 1,), self.block(nobody, 1)),
                Case((value,), self.block(inside), falls=falls),
                Case((value + 2,), self.block(inside if falls else nobody, 1)),
            ),
        )

    # Leaving and calling

    def ways_out(self, scope: _Scope) -> list[str]:
        found = ["break"] * scope.breakable + ["continue"] * scope.continuable
        # Of those who return from main nothing more is seen.
        often = scope.in_function or self.dice.chance(0.1)
        return found + ["return"] * (scope.returnable and scope.depth > 0 and often)

    def leave(self, scope: _Scope) -> Statement:
        ways = self.ways_out(scope)
        if not ways:
            return self.simple(scope)
        way: Block = (Leave(self.dice.choose(ways)),)
        kind = self.dice.below(10)
        if kind < 4 or scope.depth >= self.nesting:
            return way[0]
        seen = tuple(self.seen(scope, 0.5))
        condition = self.condition(replace(scope, together=False))
        return If(condition, seen + way, way if kind == 9 else ())

    def call(self, scope: _Scope) -> Statement:
        old = [made for made in self.made if self._may_call(made, scope)]
        if old and self.dice.chance(0.5):
            again = self.dice.choose(old)
            self.budget.entries -= again.entries * scope.weight
            return Call(again.number)
        before = self.budget.entries
        inside = _Scope(
            scope.depth + 1, scope.weight, scope.loose, scope.together, returnable=not scope.loose,
            in_function=True,
        )  # fmt: skip
        body = self.block(inside)
        self.functions.append(body)
        entries = (before - self.budget.entries) / max(scope.weight, 1.0)
        self.made.append(_Made(len(self.functions) - 1, entries, scope.loose, scope.together))
        return Call(len(self.functions) - 1)

    def _may_call(self, made: _Made, scope: _Scope) -> bool:
        if made.loose != scope.loose or made.together != scope.together:
            return False
        return made.entries * scope.weight <= self.budget.entries


def _only(observations: list[Statement]) -> Observe | None:
    """Return the observation of a list that has one or none."""
    found = observations[0] if observations else None
    assert found is None or isinstance(found, Observe)
    return found


def generate(
    seed: int, promise: Promise, *, elect: bool, nesting: int, local: tuple[int, int, int]
) -> Program:
    """Make a program.

    Parameters
    ----------
    promise : what it counts on.
    elect : whether observations record elections instead of ballots.
    nesting : constructs in each other at most.
    local : shape of its workgroups.
    """
    x, y, z = local
    generator = _Generator(Dice(seed), promise, elect, nesting, x * y * z)
    body = generator.main()
    return Program(seed, promise, elect, local, GROUPS, tuple(generator.functions), body)
