"""Profile of programs that record the results of subgroup operations in divergent control flow.

They terminate, and `vkgroup.programs.rules` determines which results are defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vkgroup.programs import nodes
from vkgroup.programs.expressions import ExpressionGenerator, Vocabulary, word
from vkgroup.programs.generator import Budget, CallableFunction, Dice, Maker, ProgramGenerator, Scope
from vkgroup.programs.nodes import type_of
from vkgroup.programs.rules import StatementContext, function_context, may_be_undefined
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES

LOCAL_SIZES = (
    (32, 1, 1), (64, 1, 1), (8, 1, 1), (13, 1, 1), (37, 1, 1), (61, 1, 1), (1, 1, 1), (4, 4, 1), (8, 8, 1),
    (5, 3, 1), (7, 9, 1),
)  # fmt: skip
"""Shapes of workgroups: full and partial subgroups, one and two dimensions."""

MOST_EXECUTIONS = 160
"""Maximum of subgroup operations that one invocation executes; loop trips multiply."""

_DEEPEST = 4
_OPERATIONS = 14


@dataclass(frozen=True)
class Values:
    """Profile of programs that record the results of subgroup operations."""

    vocabulary: Vocabulary  # operations and types that they may use
    promise: nodes.Promise  # reconvergence guarantee that they rely on
    statements: int = 24  # approximate number of statements, without functions
    local_sizes: tuple[tuple[int, int, int], ...] = LOCAL_SIZES  # shapes of workgroups to choose from

    def program(self, seed: int, dice: Dice) -> nodes.RandomProgram:
        """Make a program."""
        types, uses = _choose_uses(dice, self.vocabulary)
        variables = [nodes.PrivateVariable(f"{type_}_{letter}", type_) for type_ in types for letter in "ab"]
        if self.vocabulary.undefined:
            results = {OPERATIONS[name].result_type(TYPES[type_]) for name, type_ in uses}
            names = sorted({type_.name for type_ in results if type_ is not None and type_.name in types})
            variables += [nodes.PrivateVariable(f"{name}_soft", name, undefined=True) for name in names]
        generator = _Generator(dice, self, types, uses, tuple(variables))
        for number in range(1, dice.between(0, 2) + 1):
            generator.function(number)
        body = generator.main()
        return generator.finished(seed, dice.choose(self.local_sizes), dice.between(1, 3), body)


class _Generator(ProgramGenerator):
    """Generator of one program."""

    def __init__(
        self,
        dice: Dice,
        profile: Values,
        types: tuple[str, ...],
        uses: tuple[tuple[str, str], ...],
        variables: tuple[nodes.PrivateVariable, ...],
    ) -> None:
        super().__init__(dice, profile.promise, Budget(profile.statements, MOST_EXECUTIONS))
        self.vocabulary, self.types, self.uses = profile.vocabulary, types, uses
        self.expressions = ExpressionGenerator(dice, profile.vocabulary, variables)
        self.steps = 0

    def block(self, scope: Scope, longest: int) -> nodes.Block:
        """Make some statements, at least one."""
        statements: list[nodes.Statement] = []
        for _ in range(self.dice.between(1, longest)):
            if self.budget.statements <= 0:
                break
            self.budget.statements -= 1
            statements.append(self.statement(scope))
        return tuple(statements) or (self.record(scope),)

    def makers(self, scope: Scope) -> Sequence[tuple[Maker, float]]:
        affordable = self.budget.executions >= scope.weight
        nests = 1.0 if scope.depth < _DEEPEST else 0.0
        return (
            (self.set, 2.0),
            (self.record, 0.7),
            (self.operate, 5.0 if scope.context.together and affordable else 0.0),
            (self.branch, 2.2 * nests),
            (self.loop, 1.5 * nests),
            (self.switch, 1.2 * nests),
            (self.call, 1.5 if self.callable_functions(scope) else 0.0),
            (self.jump, 1.3 if self.allowed_jumps(scope) else 0.0),
        )

    # Simple statements

    def set(self, scope: Scope) -> nodes.Statement:
        target = self.dice.choose([v for v in self.expressions.variables if not v.undefined])
        return nodes.Set(target, self.expressions.value(target.type, scope.context))

    def record(self, scope: Scope) -> nodes.Statement:
        self.steps += 1
        type_ = self.dice.choose([v.type for v in self.expressions.variables])
        return nodes.RecordStatement(self.steps, self.expressions.value(type_, scope.context, depth=1))

    def operate(self, scope: Scope) -> nodes.Statement:
        self.steps += 1
        self.budget.executions -= scope.weight
        while True:
            operation, type_ = self.dice.choose(self.uses)
            wanted = self.vocabulary.undefined and self.dice.chance(0.6)
            call = self.expressions.call(operation, type_, scope.context, undefined=wanted)
            undefined = may_be_undefined(call, self.vocabulary.subgroup_size)
            if self.vocabulary.undefined or not undefined:
                target = self.expressions.variable(type_of(call), undefined)
                return nodes.Operate(self.steps, call, target if self.dice.chance(0.8) else None)

    def may_call(self, candidate: CallableFunction, scope: Scope) -> bool:
        function = candidate.function
        if function.together and not scope.context.together:
            return False
        assert function.result is not None
        # Only the existence of a variable matters, but seeds rely on the order of random choices.
        return self.expressions.variable(function.result.type, False) is not None

    def call(self, scope: Scope) -> nodes.Statement:
        function = self.choose_function(scope)
        arguments = tuple(self.expressions.value(p.type, scope.context) for p in function.parameters)
        assert function.result is not None
        target = self.expressions.variable(function.result.type, False)
        return nodes.FunctionCall(function.number, arguments, target)

    def jump(self, scope: Scope) -> nodes.Statement:
        kind = self.dice.choose(self.allowed_jumps(scope))
        value: nodes.Expression | None = None
        if kind == "return" and scope.result is not None:
            value = self.expressions.value(scope.result, scope.context, depth=1)
        return nodes.Jump(kind, self._condition(scope, divergent=self._may_diverge(scope)), value)

    # Compound statements

    def _may_diverge(self, scope: Scope) -> bool:
        """Whether some invocations may leave a construct before others."""
        return self.promise is nodes.Promise.MAXIMAL or not scope.context.together

    def _condition(self, scope: Scope, *, divergent: bool) -> nodes.Expression:
        if divergent and self.dice.chance(0.85):
            return self.expressions.condition(scope.context)
        return self.expressions.uniform_condition(scope.context)

    def branch(self, scope: Scope) -> nodes.Statement:
        # Most branches are uniform if subgroup operations are not allowed in divergent ones.
        divergent = self._may_diverge(scope) or self.dice.chance(0.4)
        condition = self._condition(scope, divergent=divergent)
        inside = scope.inside(scope.context.branch(condition))
        then = self.block(inside, 3)
        return nodes.If(condition, then, self.block(inside, 3) if self.dice.chance(0.5) else ())

    def loop(self, scope: Scope) -> nodes.Statement:
        number, limit = self.next_loop(), self.dice.between(1, 4)
        form = self.dice.choose(("for", "for", "while", "do", "endless"))
        trips: nodes.Expression = word(limit)
        vote = ""
        if self.dice.chance(0.7):
            divergent = self._may_diverge(scope) or self.dice.chance(0.3)
            number_of_trips = self.expressions.word(scope.context, divergent=divergent)
            trips = nodes.Apply("&", "uint", (number_of_trips, word(3)))
            votes = [name for name in ("subgroupAny", "subgroupAll") if name in self.vocabulary.uses]
            if votes and scope.context.together and self.dice.chance(0.2):
                vote = self.dice.choose(votes)
        loop = nodes.Loop(number, form, trips, (), limit=limit, vote=vote)
        inside = scope.inside(scope.context.loop(loop), weight=scope.weight * limit)
        block = self.block(inside, 4)
        return replace(loop, rest=block) if form == "endless" else replace(loop, body=block)

    def switch(self, scope: Scope) -> nodes.Statement:
        modulus = self.dice.between(2, 4)
        divergent = self._may_diverge(scope) or self.dice.chance(0.4)
        selector = self.expressions.word(scope.context, divergent=divergent)
        cases: list[nodes.SwitchCase] = []
        left = list(range(modulus))
        while left:
            count = 2 if len(left) > 1 and self.dice.chance(0.2) else 1
            labels, left = tuple(left[:count]), left[count:]
            falls = bool(left) and self.dice.chance(0.25)
            # The last label may be the default: only one value reaches it too.
            default = not left and self.dice.chance(0.5)
            cases.append(nodes.SwitchCase(() if default and count == 1 else labels, (), default, falls))
        switch = nodes.Switch(selector, tuple(cases), modulus)
        for index, case in enumerate(cases):
            inside = scope.inside(scope.context.case(switch, index))
            cases[index] = replace(case, body=self.block(inside, 2))
        return replace(switch, cases=tuple(cases))

    # Functions and main

    def function(self, number: int) -> None:
        """Make a function that later functions and main may call."""
        communicates = self.dice.chance(0.75)
        result = self.dice.choose(self.types)
        parameters = (
            nodes.PrivateVariable("given", "uint"),
            *(
                nodes.PrivateVariable(f"given_{type_}", type_)
                for type_ in self.types
                if self.dice.chance(0.4)
            ),
        )
        locals_ = tuple(nodes.PrivateVariable(f"local_{type_}", type_) for type_ in self.types)
        outer, budget = self.expressions, self.budget
        self.expressions = ExpressionGenerator(self.dice, self.vocabulary, parameters + locals_)
        self.budget = Budget(6, MOST_EXECUTIONS // 8)
        context = function_context(self.promise, communicates)
        body = self.block(Scope(context, 1, in_function=True, result=result), 4)
        spent = MOST_EXECUTIONS // 8 - self.budget.executions
        self.expressions, self.budget = outer, budget
        function = nodes.ProgramFunction(
            number, body, parameters, nodes.PrivateVariable(f"local_{result}", result), communicates
        )
        self.functions.append(CallableFunction(function, max(spent, 1)))

    def main(self) -> nodes.Block:
        """Make the body of main; it ends with a record of every variable."""
        scope = Scope(StatementContext(self.promise))
        statements: list[nodes.Statement] = []
        while self.budget.statements > 0:
            self.budget.statements -= 1
            statements.append(self.statement(scope))
        for variable in self.expressions.variables:
            self.steps += 1
            statements.append(nodes.RecordStatement(self.steps, nodes.VariableRead(variable)))
        return tuple(statements)


def _choose_uses(dice: Dice, vocabulary: Vocabulary) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Choose a program's types and a few operations on them, first one of each category."""
    scalars = [name for name in vocabulary.types if TYPES[name].components == 1]
    vectors = [name for name in vocabulary.types if TYPES[name].components > 1]
    types = {"uint", dice.choose(scalars), dice.choose(vectors), dice.choose(vectors)}
    uses: list[tuple[str, str]] = []
    names = tuple(vocabulary.uses)
    categories = sorted({OPERATIONS[name].category.value for name in names})
    while len(uses) < _OPERATIONS:
        category = categories[len(uses)] if len(uses) < len(categories) else None
        fitting = [n for n in names if category in (None, OPERATIONS[n].category.value)]
        name = dice.choose(fitting)
        known = [type_ for type_ in vocabulary.uses[name] if type_ in types]
        fixed = len(vocabulary.uses[name]) == 1
        if fixed or known:
            uses.append((name, vocabulary.uses[name][0] if fixed else dice.choose(known)))
        elif category is not None:
            uses.append((name, dice.choose(vocabulary.uses[name])))
    return tuple(sorted(types)), tuple(uses)
