"""Profile of programs that record which invocations are active together.

They contain all ways in which GLSL invocations can diverge and reconverge. Where the active invocations are
unknown (under uniform control flow, nearly everywhere after a divergent branch), the outcome of an election
is unknown. A construct that depends on one is *unpredictable*: all invocations leave it at its end, and the
observations in it are not compared. So the log of every invocation is known, except for its masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vkgroup.programs import nodes
from vkgroup.programs.generator import Budget, CallableFunction, Dice, Maker, ProgramGenerator, Scope
from vkgroup.programs.glsl import EFFECTS
from vkgroup.programs.rules import NO_JUMPS, StatementContext

LOCAL_SIZES = (
    (7, 13, 1), (64, 1, 1), (32, 1, 1), (5, 5, 5), (128, 1, 1), (37, 1, 1), (8, 12, 1), (61, 2, 1),
)  # fmt: skip
"""Shapes of workgroups: full and partial subgroups, one to three dimensions."""

GROUPS = 2
"""Workgroups of a dispatch."""

MOST_ENTRIES = 300
"""Approximate maximum of observations of one invocation; loop trips multiply."""

_DEEPEST_LOOP = 3
_FEWEST_OBSERVATIONS = 6

# Approximate number of trips of such a loop in subgroups of 32.
_ELECT_TRIPS, _LANE_TRIPS = 16, 32


@dataclass(frozen=True)
class Observations:
    """Profile of programs that record which invocations are active together."""

    promise: nodes.Promise  # reconvergence guarantee that they rely on
    elect: bool  # whether observations record elections instead of ballots
    nesting: int  # largest nesting depth of constructs
    local_size: tuple[int, int, int]  # shape of the workgroups

    def program(self, seed: int, dice: Dice) -> nodes.RandomProgram:
        """Make a program."""
        x, y, z = self.local_size
        generator = _Generator(dice, self.promise, self.nesting, x * y * z)
        return generator.finished(seed, self.local_size, GROUPS, generator.main(), elect=self.elect)


class _Generator(ProgramGenerator):
    """Generator of one program.

    In its contexts `together` means that elections have a known outcome, or that unpredictable constructs
    may contain them.
    """

    def __init__(self, dice: Dice, promise: nodes.Promise, nesting: int, invocations: int) -> None:
        super().__init__(dice, promise, Budget(8 + 4 * nesting, MOST_ENTRIES))
        self.nesting, self.invocations = nesting, invocations
        self.maximal = promise is nodes.Promise.MAXIMAL
        self.masks = [sum(dice.below(1 << 16) << 16 * part for part in range(8)) for _ in range(5)]
        self.observations = 0

    # Blocks

    def main(self) -> nodes.Block:
        """Make the body of main: constructs with observations between them, regardless of cost."""
        scope = Scope(StatementContext(self.promise))
        statements: list[nodes.Statement] = [self.observation(scope)]
        while self.budget.statements > 0 or self.observations < _FEWEST_OBSERVATIONS:
            self.budget.statements -= 1
            statements.append(self.statement(scope))
            self.budget.executions = max(self.budget.executions, 1.0)
            statements.append(self.observation(scope))
        return tuple(statements)

    def block(self, scope: Scope, longest: int = 2) -> nodes.Block:
        """Make some constructs with observations around them."""
        statements: list[nodes.Statement] = []
        for _ in range(self.dice.between(1, longest)):
            self.budget.statements -= 1
            statements += self.maybe_observation(scope, 0.4)
            statements.append(self.statement(scope))
            if isinstance(statements[-1], nodes.Jump) and self.dice.chance(0.8):
                return tuple(statements)
            statements += self.maybe_observation(scope, 0.4)
        return tuple(statements)

    def observation(self, scope: Scope) -> nodes.Observe:
        self.observations += 1
        self.budget.executions -= 0 if scope.context.unpredictable else scope.weight
        return nodes.Observe(self.observations, scope.context.unpredictable)

    def maybe_observation(self, scope: Scope, chance: float) -> list[nodes.Observe]:
        """Return a list of one observation, or an empty list."""
        affordable = scope.context.unpredictable or self.budget.executions >= scope.weight
        return [self.observation(scope)] if affordable and self.dice.chance(chance) else []

    def makers(self, scope: Scope) -> Sequence[tuple[Maker, float]]:
        nests = 1.0 if scope.depth < self.nesting and self.budget.statements > -2 * self.nesting else 0.0
        together = scope.context.together
        loops = nests if len(scope.context.loops) < _DEEPEST_LOOP and scope.weight < 100 else 0.0
        elects = loops if together and scope.weight < 20 else 0.0
        calls = nests if not scope.in_function and scope.depth < self.nesting - 1 else 0.0
        return (
            (self.effect, 0.6),
            (self.branch, 3.0 * nests),
            (self.elect_branch, 0.7 * nests * together),
            (self.loop, 2.0 * loops),
            (self.elect_loop, 1.0 * elects),
            (self.switch, 1.3 * nests),
            (self.call, 0.8 * calls),
            (self.jump, 1.6 * bool(self.jumps(scope))),
        )

    def effect(self, scope: Scope) -> nodes.Statement:
        return nodes.Effect(self.dice.choose(tuple(EFFECTS)))

    # Conditions

    def condition(self, scope: Scope) -> nodes.Condition:
        """Make a condition, divergent or uniform."""
        options: list[tuple[nodes.Condition, float]] = [
            (nodes.LaneIn(self.dice.choose(self.masks)), 3.0),
            (nodes.DataBit(self.dice.below(31)), 1.5),
            (nodes.IndexFrom(self.dice.below(self.invocations)), 2.0),
            (nodes.SubgroupOdd(), 0.7),
            (nodes.UniformValue(self.dice.chance(0.75)), 2.0),
        ]
        condition = self.dice.weighted(options)
        loops = sorted(scope.context.loops)
        if loops and self.dice.chance(0.25):
            value = self.dice.below(3) if self.dice.chance(0.4) else None
            condition = nodes.TripIs(self.dice.choose(loops), value)
        if self.dice.chance(0.2):
            condition = nodes.Not(condition)
        if self.maximal and scope.context.together and self.dice.chance(0.1):
            condition = nodes.Vote(self.dice.chance(0.5), condition)
        return condition

    def branch(self, scope: Scope) -> nodes.Statement:
        inside = scope.inside(scope.context)
        condition, then = self.condition(scope), self.block(inside)
        if self.dice.chance(0.5):
            return nodes.If(condition, then)
        # Sometimes both branches are equal, for compilers that merge equal code.
        return nodes.If(condition, then, then if self.dice.chance(0.2) else self.block(inside))

    def elect_branch(self, scope: Scope) -> nodes.Statement:
        context = scope.context
        if not self.maximal and not context.unpredictable:
            context = replace(context, unpredictable=True, jumps=NO_JUMPS)
        inside = scope.inside(context)
        then = self.block(inside)
        otherwise = self.block(inside) if self.dice.chance(0.3) else ()
        return nodes.If(nodes.Elect(), then, otherwise, unpredictable=context.unpredictable)

    # Loops

    def loop(self, scope: Scope) -> nodes.Statement:
        number = self.next_loop()
        trips, count = self.trips(scope)
        context = replace(scope.context, loops=scope.context.loops | {number})
        inside = scope.inside(context.with_jumps("break", "continue"), weight=scope.weight * count)
        form = self.dice.choose(("for", "for", "while", "do", "do", "endless"))
        # An invocation that continues before the only exit never ends.
        less = "continue" * (form == "endless")
        body = self.block(replace(inside, context=inside.context.with_jumps(less=less)))
        rest = self.block(inside) if form == "endless" else ()
        between = self.maybe_observation(inside, 0.3) if form in ("for", "endless") else []
        return nodes.Loop(number, form, trips, body, rest, between=_first(between))

    def trips(self, scope: Scope) -> tuple[nodes.Number, float]:
        """Return an expression for the number of trips, and its approximate value."""
        options: list[tuple[tuple[nodes.Number, float], float]] = [
            ((nodes.Fixed(self.dice.between(1, 4)), 2.5), 2.0),
            ((nodes.OfLane(self.dice.between(2, 5), self.dice.below(2)), 2.5), 1.5),
            ((nodes.OfData(self.dice.below(30)), 1.5), 1.0),
            ((nodes.OfSubgroup(self.dice.between(2, 4)), 1.5), 0.5),
        ]
        if not scope.context.loops and scope.weight * _LANE_TRIPS <= self.budget.executions:
            options.append(((nodes.OfLane(128, 1), _LANE_TRIPS), 0.5))
        return self.dice.weighted(options)

    def elect_loop(self, scope: Scope) -> nodes.Statement:
        number = self.next_loop()
        outer = scope.context
        unpredictable = outer.unpredictable or not self.maximal
        may_return = scope.in_function and "return" in outer.jumps and not outer.unpredictable
        returns = may_return and self.dice.chance(0.3)
        jumps = NO_JUMPS if unpredictable else outer.jumps & {"return"}
        if not (unpredictable and returns):
            jumps |= {"break"}
        context = replace(outer, loops=outer.loops | {number}, unpredictable=unpredictable, jumps=jumps)
        inside = scope.inside(context, weight=scope.weight * _ELECT_TRIPS)
        return nodes.Loop(
            number, "elect", None, self.block(inside, 1),
            rest=self.block(inside, 1),
            before_exit=tuple(self.maybe_observation(replace(inside, weight=scope.weight), 0.7)),
            exit="return" if returns else "break",
            between=_first(self.maybe_observation(inside, 0.5)),
            unpredictable=unpredictable,
        )  # fmt: skip

    # Switches

    def switch(self, scope: Scope) -> nodes.Statement:
        inside = scope.inside(scope.context.with_jumps("break"))
        loops = sorted(scope.context.loops)
        if loops and self.dice.chance(0.3):
            loop = self.dice.choose(loops)
            first, second = (nodes.SwitchCase((value,), self.block(inside, 1)) for value in (1, 2))
            return nodes.Switch(
                nodes.Counter(loop),
                (first, second, nodes.SwitchCase((), self.block(inside, 1), default=True)),
            )
        if self.dice.chance(0.3):
            return self.uniform_switch(inside)
        # Even under maximal reconvergence, invocations with different selectors may be apart in one case.
        together = inside.context.together and not self.maximal
        mixed = replace(inside, context=replace(inside.context, together=together))
        selectors: list[tuple[nodes.Number, float]] = [
            (nodes.OfLane(4), 3.0), (nodes.OfData(self.dice.below(30)), 2.0), (nodes.OfSubgroup(4), 0.7)
        ]  # fmt: skip
        selector = self.dice.weighted(selectors)
        kind = self.dice.choose(("single", "single", "merged", "falling", "default"))
        if kind == "single":
            return nodes.Switch(
                selector, tuple(nodes.SwitchCase((value,), self.block(inside, 1)) for value in range(4))
            )
        if kind == "merged":
            return nodes.Switch(
                selector, tuple(nodes.SwitchCase(pair, self.block(mixed)) for pair in ((0, 1), (2, 3)))
            )
        if kind == "falling":
            return nodes.Switch(
                selector,
                (
                    nodes.SwitchCase((2,), self.block(inside, 1), falls=True),
                    nodes.SwitchCase((0,), self.block(mixed, 1), falls=self.dice.chance(0.5)),
                    nodes.SwitchCase((3,), self.block(mixed, 1)),
                ),
            )
        single = nodes.SwitchCase((1,), self.block(inside, 1))
        return nodes.Switch(selector, (single, nodes.SwitchCase((), self.block(mixed, 1), default=True)))

    def uniform_switch(self, inside: Scope) -> nodes.Statement:
        """Make a switch in which all invocations take the second case."""
        value = self.dice.below(5)
        never = replace(inside, weight=0.0)
        falls = self.dice.chance(0.3)
        return nodes.Switch(
            nodes.Fixed(value),
            (
                nodes.SwitchCase((value + 1,), self.block(never, 1)),
                nodes.SwitchCase((value,), self.block(inside), falls=falls),
                nodes.SwitchCase((value + 2,), self.block(inside if falls else never, 1)),
            ),
        )

    # Jumps and calls

    def jumps(self, scope: Scope) -> list[str]:
        """Return the jumps that may stand in a scope."""
        # Invocations that return from main record nothing more.
        return self.allowed_jumps(scope, may_return=scope.in_function or self.dice.chance(0.1))

    def jump(self, scope: Scope) -> nodes.Statement:
        kinds = self.jumps(scope)
        if not kinds:
            return self.effect(scope)
        jump: nodes.Block = (nodes.Jump(self.dice.choose(kinds)),)
        form = self.dice.below(10)
        if form < 4 or scope.depth >= self.nesting:
            return jump[0]
        before = tuple(self.maybe_observation(scope, 0.5))
        condition = self.condition(replace(scope, context=replace(scope.context, together=False)))
        return nodes.If(condition, before + jump, jump if form == 9 else ())

    def call(self, scope: Scope) -> nodes.Statement:
        if self.callable_functions(scope) and self.dice.chance(0.5):
            return nodes.FunctionCall(self.choose_function(scope).number)
        before, outer = self.budget.executions, scope.context
        jumps = NO_JUMPS if outer.unpredictable else frozenset({"return"})
        context = StatementContext(self.promise, outer.together, jumps, unpredictable=outer.unpredictable)
        inside = Scope(context, scope.depth + 1, scope.weight, in_function=True)
        function = nodes.ProgramFunction(len(self.functions), self.block(inside), together=outer.together)
        executions = (before - self.budget.executions) / max(scope.weight, 1.0)
        self.functions.append(CallableFunction(function, executions, outer.unpredictable))
        return nodes.FunctionCall(function.number)

    def may_call(self, candidate: CallableFunction, scope: Scope) -> bool:
        context = scope.context
        same_paths = candidate.unpredictable == context.unpredictable
        return same_paths and candidate.function.together == context.together


def _first(observations: list[nodes.Observe]) -> nodes.Observe | None:
    """Return the observation of a list with one element; None for an empty list."""
    return observations[0] if observations else None
