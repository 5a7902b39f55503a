"""Random programs: divergent, terminating, and defined wherever the rules say so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from vkgroup.conformance.dice import Dice
from vkgroup.conformance.reconvergence.nodes import Promise
from vkgroup.random_programs.expressions import Expressions, word
from vkgroup.random_programs.nodes import (
    Apply,
    Block,
    Call,
    Case,
    Expression,
    Function,
    If,
    Leave,
    Loop,
    Operate,
    Program,
    Read,
    Record,
    Set,
    Statement,
    Switch,
    Variable,
    type_of,
)
from vkgroup.random_programs.rules import Place, function_place, may_be_undefined
from vkgroup.random_programs.vocabulary import Vocabulary
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES

LOCAL_SIZES = ((32, 1), (64, 1), (8, 1), (13, 1), (37, 1), (61, 1), (1, 1), (4, 4), (8, 8), (5, 3), (7, 9))
"""Shapes of workgroups: full and partial subgroups, one and two dimensions."""

MOST_EXECUTIONS = 160
"""Subgroup operations that one invocation may execute: trips multiply."""

_DEEPEST = 4


@dataclass
class _Budget:
    """What is left of a program's size; shared by all of its blocks."""

    statements: int
    executions: int = MOST_EXECUTIONS


@dataclass(frozen=True)
class _Scope:
    """Where the next statements go.

    Attributes
    ----------
    place : what may stand there.
    depth : constructs around.
    weight : most times that a statement here is executed.
    result : type that a function returns; None in ``main``.
    """

    place: Place
    depth: int
    weight: int
    result: str | None = None


@dataclass
class _Made:
    """A function that can be called, and what a call costs."""

    function: Function
    executions: int


@dataclass
class _Generator:
    """Makes one program; the order of its choices is part of its seed."""

    dice: Dice
    vocabulary: Vocabulary
    promise: Promise
    expressions: Expressions
    budget: _Budget
    types: tuple[str, ...]
    uses: tuple[tuple[str, str], ...]
    functions: list[_Made] = field(default_factory=list)
    steps: int = 0
    loops: int = 0

    def block(self, scope: _Scope, longest: int) -> Block:
        """Make some statements, at least one."""
        statements: list[Statement] = []
        for _ in range(self.dice.between(1, longest)):
            if self.budget.statements <= 0:
                break
            self.budget.statements -= 1
            statements.append(self.statement(scope))
        return tuple(statements) or (self.record(scope),)

    def statement(self, scope: _Scope) -> Statement:
        place = scope.place
        operates = 5.0 if place.together and self.budget.executions >= scope.weight else 0.0
        nests = 1.0 if scope.depth < _DEEPEST else 0.0
        callable_ = [made for made in self.functions if self._may_call(made, scope)]
        leaves = self._leaves(scope)
        make = self.dice.weighted(
            (
                (self.set, 2.0),
                (self.record, 0.7),
                (self.operate, operates),
                (self.branch, 2.2 * nests),
                (self.loop, 1.5 * nests),
                (self.switch, 1.2 * nests),
                (self.call, 1.5 if callable_ else 0.0),
                (self.leave, 1.3 if leaves else 0.0),
            )
        )
        return make(scope)

    # Statements without others inside

    def set(self, scope: _Scope) -> Statement:
        target = self.dice.choose([v for v in self.expressions.variables if not v.soft])
        return Set(target, self.expressions.value(target.type, scope.place))

    def record(self, scope: _Scope) -> Statement:
        self.steps += 1
        type_ = self.dice.choose([v.type for v in self.expressions.variables])
        return Record(self.steps, self.expressions.value(type_, scope.place, depth=1))

    def operate(self, scope: _Scope) -> Statement:
        self.steps += 1
        self.budget.executions -= scope.weight
        while True:
            operation, type_ = self.dice.choose(self.uses)
            soft = self.vocabulary.soft and self.dice.chance(0.6)
            call = self.expressions.call(operation, type_, scope.place, soft=soft)
            undefined = may_be_undefined(call, self.vocabulary.subgroup_size)
            if self.vocabulary.soft or not undefined:
                target = self.expressions.variable(type_of(call), undefined)
                return Operate(self.steps, call, target if self.dice.chance(0.8) else None)

    def _may_call(self, made: _Made, scope: _Scope) -> bool:
        if made.function.together and not scope.place.together:
            return False
        result = made.function.result.type
        affordable = made.executions * scope.weight <= self.budget.executions
        return affordable and self.expressions.variable(result, False) is not None

    def call(self, scope: _Scope) -> Statement:
        made = self.dice.choose([made for made in self.functions if self._may_call(made, scope)])
        self.budget.executions -= made.executions * scope.weight
        arguments = tuple(self.expressions.value(p.type, scope.place) for p in made.function.parameters)
        target = self.expressions.variable(made.function.result.type, False)
        assert target is not None
        return Call(made.function.number, arguments, target)

    def _leaves(self, scope: _Scope) -> list[str]:
        place = scope.place
        found = ["break"] * place.breakable + ["continue"] * place.continuable
        return found + ["return"] * (place.returnable and scope.depth > 0)

    def leave(self, scope: _Scope) -> Statement:
        kind = self.dice.choose(self._leaves(scope))
        value: Expression | None = None
        if kind == "return" and scope.result is not None:
            value = self.expressions.value(scope.result, scope.place, depth=1)
        return Leave(kind, self._condition(scope, parting=self._may_part(scope)), value)

    # Statements with others inside

    def _may_part(self, scope: _Scope) -> bool:
        """Whether some invocations may leave a construct while others stay."""
        return self.promise is Promise.MAXIMAL or not scope.place.together

    def _condition(self, scope: _Scope, *, parting: bool) -> Expression:
        if parting and self.dice.chance(0.85):
            return self.expressions.condition(scope.place)
        return self.expressions.uniform_condition(scope.place)

    def branch(self, scope: _Scope) -> Statement:
        # Where divergence ends all communication, most branches stay uniform.
        parting = self._may_part(scope) or self.dice.chance(0.4)
        condition = self._condition(scope, parting=parting)
        inside = replace(scope, place=scope.place.branch(condition), depth=scope.depth + 1)
        then = self.block(inside, 3)
        return If(condition, then, self.block(inside, 3) if self.dice.chance(0.5) else ())

    def loop(self, scope: _Scope) -> Statement:
        self.loops += 1
        limit = self.dice.between(1, 4)
        form = self.dice.choose(("for", "for", "while", "do", "endless"))
        trips: Expression = word(limit)
        vote = ""
        if self.dice.chance(0.7):
            parting = self._may_part(scope) or self.dice.chance(0.3)
            trips = Apply("&", "uint", (self.expressions.word(scope.place, parting=parting), word(3)))
            votes = [name for name in ("subgroupAny", "subgroupAll") if name in self.vocabulary.uses]
            if votes and scope.place.together and self.dice.chance(0.2):
                vote = self.dice.choose(votes)
        loop = Loop(self.loops, form, trips, limit, (), vote)
        inside = replace(
            scope, place=scope.place.loop(loop), depth=scope.depth + 1, weight=scope.weight * limit
        )
        return replace(loop, body=self.block(inside, 4))

    def switch(self, scope: _Scope) -> Statement:
        modulus = self.dice.between(2, 4)
        parting = self._may_part(scope) or self.dice.chance(0.4)
        selector = self.expressions.word(scope.place, parting=parting)
        cases: list[Case] = []
        left = list(range(modulus))
        while left:
            count = 2 if len(left) > 1 and self.dice.chance(0.2) else 1
            labels, left = tuple(left[:count]), left[count:]
            falls = bool(left) and self.dice.chance(0.25)
            # The last label may be the default: alone it is as sharp as any other.
            default = not left and self.dice.chance(0.5)
            cases.append(Case(() if default and count == 1 else labels, (), default, falls))
        switch = Switch(selector, modulus, tuple(cases))
        for index, case in enumerate(cases):
            inside = replace(scope, place=scope.place.case(switch, index), depth=scope.depth + 1)
            cases[index] = replace(case, body=self.block(inside, 2))
        return replace(switch, cases=tuple(cases))

    # Functions and main

    def function(self, number: int) -> None:
        """Make a function that later ones, and main, may call."""
        communicates = self.dice.chance(0.75)
        result = self.dice.choose(self.types)
        parameters = (
            Variable("given", "uint"),
            *(Variable(f"given_{type_}", type_) for type_ in self.types if self.dice.chance(0.4)),
        )
        locals_ = tuple(Variable(f"local_{type_}", type_) for type_ in self.types)
        outer, budget = self.expressions, self.budget
        self.expressions = Expressions(self.dice, self.vocabulary, parameters + locals_)
        self.budget = _Budget(6, MOST_EXECUTIONS // 8)
        body = self.block(_Scope(function_place(self.promise, communicates), 1, 1, result), 4)
        spent = MOST_EXECUTIONS // 8 - self.budget.executions
        self.expressions, self.budget = outer, budget
        made = Function(number, parameters, Variable(f"local_{result}", result), body, communicates)
        self.functions.append(_Made(made, max(spent, 1)))

    def main(self) -> Block:
        """Make the body of main; it ends with a record of every variable."""
        scope = _Scope(Place(self.promise), 0, 1)
        statements: list[Statement] = []
        while self.budget.statements > 0:
            self.budget.statements -= 1
            statements.append(self.statement(scope))
        for variable in self.expressions.variables:
            self.steps += 1
            statements.append(Record(self.steps, Read(variable)))
        return tuple(statements)


def _choose_uses(dice: Dice, vocabulary: Vocabulary) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Choose a program's types and a handful of operations on them, one of each category first."""
    scalars = [name for name in vocabulary.types if TYPES[name].components == 1]
    vectors = [name for name in vocabulary.types if TYPES[name].components > 1]
    types = {"uint", dice.choose(scalars), dice.choose(vectors), dice.choose(vectors)}
    uses: list[tuple[str, str]] = []
    names = tuple(vocabulary.uses)
    categories = sorted({OPERATIONS[name].category.value for name in names})
    while len(uses) < 14:
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


def generate(
    seed: int,
    vocabulary: Vocabulary,
    promise: Promise,
    *,
    statements: int = 24,
    local_sizes: tuple[tuple[int, int], ...] = LOCAL_SIZES,
) -> Program:
    """Make a program.

    Parameters
    ----------
    seed : the same seed, vocabulary and promise give the same program.
    vocabulary : what it may use.
    promise : what it may count on.
    statements : about how many statements it has, functions aside.
    local_sizes : the shapes of workgroups to choose from.
    """
    dice = Dice(seed)
    types, uses = _choose_uses(dice, vocabulary)
    variables = [Variable(f"{type_}_{letter}", type_) for type_ in types for letter in "ab"]
    if vocabulary.soft:
        results = {OPERATIONS[name].result_type(TYPES[type_]) for name, type_ in uses}
        soft = sorted({found.name for found in results if found is not None and found.name in types})
        variables += [Variable(f"{type_}_soft", type_, soft=True) for type_ in soft]
    expressions = Expressions(dice, vocabulary, tuple(variables))
    made = _Generator(dice, vocabulary, promise, expressions, _Budget(statements), types, uses)
    for number in range(1, dice.between(0, 2) + 1):
        made.function(number)
    body = made.main()
    shape = dice.choose(local_sizes)
    groups = dice.between(1, 3)
    return Program(seed, promise, shape, groups, tuple(m.function for m in made.functions), body)
