"""Vocabulary of a program, and random expressions with subgroup operations."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.programs import nodes
from vkgroup.programs.generator import Dice
from vkgroup.programs.rules import ANY_ACTIVE, FIRST_ACTIVE, LAST_ACTIVE, StatementContext
from vkgroup.spec.operations import OPERATIONS, Operand, OperandKind
from vkgroup.spec.types import TYPES, GlslType

CLUSTERS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Cluster sizes (KHR_shader_subgroup: powers of two)."""


@dataclass(frozen=True)
class Vocabulary:
    """Operations and types that a generator chooses from."""

    uses: dict[str, tuple[str, ...]]  # operation → the types it may be used with
    types: tuple[str, ...]  # names of the types for variables
    subgroup_size: int  # smallest subgroup size of the device; clusters are at most as large
    #: Whether broadcasts may use ids that are not constant (``subgroupBroadcastDynamicId``).
    dynamic_ids: bool = True
    #: Whether some results of operations may be undefined. If not, two drivers can be compared with each
    #: other.
    undefined: bool = True


LANE = nodes.Builtin("gl_SubgroupInvocationID")
_BUILTINS = (
    LANE,
    nodes.Builtin("gl_SubgroupID"),
    nodes.Builtin("gl_LocalInvocationIndex"),
    nodes.Builtin("gl_WorkGroupID.x"),
    nodes.Builtin("gl_SubgroupSize"),
)
_OPERATORS = {
    "int": ("+", "-", "*", "&", "|", "^"),
    "uint": ("+", "-", "*", "&", "|", "^"),
    "float": ("+", "-", "*", "min", "max"),
    "bool": ("&&", "||", "^^"),
}


def word(value: int) -> nodes.Literal:
    """Return a uint constant."""
    return nodes.Literal("uint", (value,))


class ExpressionGenerator:
    """Generator of random expressions from a vocabulary and the readable variables."""

    def __init__(
        self, dice: Dice, vocabulary: Vocabulary, variables: tuple[nodes.PrivateVariable, ...]
    ) -> None:
        self.dice = dice
        self.vocabulary = vocabulary
        self.variables = variables

    def variable(self, type_: str, undefined: bool) -> nodes.PrivateVariable | None:
        """Return a variable of a type; None if there is none."""
        fitting = [v for v in self.variables if v.type == type_ and v.undefined == undefined]
        return self.dice.choose(fitting) if fitting else None

    def literal(self, type_: GlslType) -> nodes.Literal:
        """Return a constant."""
        limit = 2 if type_.scalar.kind == "bool" else 8
        return nodes.Literal(type_.name, tuple(self.dice.below(limit) for _ in range(type_.components)))

    def value(
        self, type_name: str, context: StatementContext, *, depth: int = 2, undefined: bool = False
    ) -> nodes.Expression:
        """Return a value of a type; with `undefined` it may read variables whose value may be undefined."""
        type_ = TYPES[type_name]
        if depth and self.dice.chance(0.45):
            return self._applied(type_, context, depth, undefined)
        if type_name == "uint" and self.dice.chance(0.35):
            return self._source(context)
        if undefined and (variable := self.variable(type_name, True)) and self.dice.chance(0.5):
            return nodes.VariableRead(variable)
        if (variable := self.variable(type_name, False)) and self.dice.chance(0.75):
            return nodes.VariableRead(variable)
        if type_name != "uint" and self.dice.chance(0.6):
            return nodes.FromWord(
                type_name, self.value("uint", context, depth=max(depth - 1, 0), undefined=undefined)
            )
        return self.literal(type_)

    def _applied(
        self, type_: GlslType, context: StatementContext, depth: int, undefined: bool
    ) -> nodes.Expression:
        def part() -> nodes.Expression:
            return self.value(type_.name, context, depth=depth - 1, undefined=undefined)

        if type_.scalar.kind == "bool" and type_.components > 1:
            if self.dice.chance(0.3):
                return nodes.Apply("not", type_.name, (part(),))
            return nodes.Apply(self.dice.choose(("equal", "notEqual")), type_.name, (part(), part()))
        if type_.name == "bool":
            if self.dice.chance(0.5):
                return self.condition(context, depth=depth - 1)
            if self.dice.chance(0.3):
                return nodes.Apply("!", "bool", (part(),))
        if type_.name == "uint" and self.dice.chance(0.25):
            others = [v for v in self.variables if v.type != "uint" and (undefined or not v.undefined)]
            if others:
                return nodes.ToWord(nodes.VariableRead(self.dice.choose(others)))
        first, second = part(), part()
        if first == second:
            second = self.literal(type_)
        operators = ("^^",) if undefined and type_.name == "bool" else _OPERATORS[type_.scalar.kind]
        return nodes.Apply(self.dice.choose(operators), type_.name, (first, second))

    def _source(self, context: StatementContext) -> nodes.Expression:
        """Return a value that differs between invocations or between trips."""
        if context.loops and self.dice.chance(0.4):
            return nodes.Counter(self.dice.choose(sorted(context.loops)))
        builtin: nodes.Builtin = self.dice.choose(_BUILTINS)
        return builtin

    def condition(self, context: StatementContext, *, depth: int = 1) -> nodes.Expression:
        """Return a condition that is defined and often divergent."""
        variable = self.variable("bool", False)
        if variable and self.dice.chance(0.15):
            return nodes.VariableRead(variable)
        mask = self.dice.choose((1, 3, 7))
        source: nodes.Expression = LANE if self.dice.chance(0.4) else self.value("uint", context, depth=depth)
        left = nodes.Apply("&", "uint", (source, word(mask)))
        return nodes.Compare(
            self.dice.choose(("<", "==", "!=", ">=")), left, word(self.dice.between(0, mask))
        )

    def word(self, context: StatementContext, *, divergent: bool) -> nodes.Expression:
        """Return a uint, uniform if invocations must not diverge."""
        return self.value("uint", context) if divergent else self.uniform_word(context)

    def uniform_word(self, context: StatementContext) -> nodes.Expression:
        """Return a uint that is the same in all active invocations."""
        sources: list[nodes.Expression] = [nodes.Builtin("gl_WorkGroupID.x"), word(self.dice.below(8))]
        sources += [nodes.Counter(number) for number in sorted(context.uniform_counters)] * 2
        if context.is_uniform(nodes.Builtin("gl_SubgroupID")):
            sources.append(nodes.Builtin("gl_SubgroupID"))
        first, second = self.dice.choose(sources), self.dice.choose(sources)
        if first == second:
            second = word(self.dice.between(1, 7))
        return nodes.Apply(self.dice.choose(("+", "^", "*")), "uint", (first, second))

    def uniform_condition(self, context: StatementContext) -> nodes.Expression:
        """Return a condition that is the same in all active invocations."""
        voted = context.is_uniform(nodes.Communicate("subgroupAny", "bool", (nodes.Literal("bool", (1,)),)))
        votes = [name for name in ("subgroupAny", "subgroupAll") if name in self.vocabulary.uses]
        if voted and context.together and votes and self.dice.chance(0.5):
            return nodes.Communicate(self.dice.choose(votes), "bool", (self.condition(context),))
        mask = self.dice.choose((1, 3))
        left = nodes.Apply("&", "uint", (self.uniform_word(context), word(mask)))
        return nodes.Compare(self.dice.choose(("<", "==", "!=")), left, word(self.dice.between(0, mask)))

    # Operands of subgroup operations

    def call(
        self, operation: str, type_: str, context: StatementContext, *, undefined: bool
    ) -> nodes.Communicate:
        """Return a use of an operation; with `undefined` some of its results may be undefined."""
        operands = OPERATIONS[operation].operands
        arguments = tuple(
            self._operand(operation, operand, type_, context, undefined) for operand in operands
        )
        return nodes.Communicate(operation, type_, arguments)

    def _operand(
        self, operation: str, operand: Operand, type_: str, context: StatementContext, undefined: bool
    ) -> nodes.Expression:
        kind = operand.kind
        if kind is OperandKind.VALUE:
            return self.value(type_, context, undefined=undefined and self.dice.chance(0.2))
        if kind is OperandKind.PREDICATE:
            return self.condition(context)
        if kind is OperandKind.BALLOT:
            return self._ballot(operation, context, undefined)
        if kind is OperandKind.CLUSTER_SIZE:
            fitting = [size for size in CLUSTERS if size <= self.vocabulary.subgroup_size]
            return word(self.dice.choose(fitting))
        if kind is OperandKind.INDEX:
            return nodes.Apply("%", "uint", (self.value("uint", context), nodes.Builtin("gl_SubgroupSize")))
        return self._number(operation, kind, context, undefined)

    def _ballot(self, operation: str, context: StatementContext, undefined: bool) -> nodes.Expression:
        if operation.startswith("subgroupBallotFind") and not undefined:
            return ANY_ACTIVE
        if self.dice.chance(0.75):
            return nodes.Communicate("subgroupBallot", "bool", (self.condition(context),))
        if operation == "subgroupInverseBallot":
            return self.literal(TYPES["uvec4"])
        return nodes.FromWord("uvec4", self.value("uint", context, depth=1))

    def _number(
        self, operation: str, kind: OperandKind, context: StatementContext, undefined: bool
    ) -> nodes.Expression:
        """Return an id, a mask or a delta."""
        size = self.vocabulary.subgroup_size
        constant = operation in ("subgroupBroadcast", "subgroupQuadBroadcast")
        ballots = "subgroupBallot" in self.vocabulary.uses
        limit = 4 if operation == "subgroupQuadBroadcast" else size
        if constant:
            dynamic = self.vocabulary.dynamic_ids and ballots and operation == "subgroupBroadcast"
            if dynamic and (not undefined or self.dice.chance(0.5)):
                return self.dice.choose((FIRST_ACTIVE, LAST_ACTIVE))
            return word(self.dice.below(limit))
        if kind is OperandKind.ID:
            if not undefined or self.dice.chance(0.3):
                ids: tuple[nodes.Expression, ...] = (FIRST_ACTIVE, LAST_ACTIVE, LANE)
                return self.dice.choose(ids) if ballots else LANE
            if self.dice.chance(0.3):
                return nodes.Apply("^", "uint", (LANE, word(self.dice.below(size))))
            return nodes.Apply("%", "uint", (self.value("uint", context), nodes.Builtin("gl_SubgroupSize")))
        if self.dice.chance(0.5):
            return word(self.dice.below(size))
        return nodes.Apply(
            "%", "uint", (self.value("uint", context, depth=1), nodes.Builtin("gl_SubgroupSize"))
        )
