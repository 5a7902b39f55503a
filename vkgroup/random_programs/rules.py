"""The rules that keep a program's results defined: what may stand where.

The generator keeps to them, and what the shrinker makes is thrown away where it does not.

* A subgroup operation stands only where the promise says which invocations execute it together.
* No branch, no id that must be uniform, and no loop depends on a *soft* value.
* Every ``break`` and ``continue`` has its loop or switch.

A switch needs care even under maximal reconvergence: invocations with different selectors that execute the
same case may or may not be together, and neither may those that fall into a case and those that enter it
(SPV_KHR_maximal_reconvergence, "Divergence" and "Reconvergence"). Only a case that exactly one selector
value reaches, and nothing falls into, has a known set of invocations, unless the selector is uniform.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vkgroup.conformance.reconvergence.nodes import Promise, walk
from vkgroup.random_programs.nodes import (
    Apply,
    Block,
    Builtin,
    Call,
    Communicate,
    Compare,
    Counter,
    Expression,
    FromWord,
    If,
    Leave,
    Literal,
    Loop,
    Operate,
    Program,
    Read,
    Record,
    Set,
    Statement,
    Switch,
    ToWord,
)
from vkgroup.spec.operations import OPERATIONS, OperandKind

_UNIFORM_BUILTINS = {
    Promise.WORKGROUP: {"gl_WorkGroupID.x", "gl_SubgroupSize"},
    Promise.SUBGROUP: {"gl_WorkGroupID.x", "gl_SubgroupSize", "gl_SubgroupID"},
    Promise.MAXIMAL: {"gl_WorkGroupID.x", "gl_SubgroupSize", "gl_SubgroupID"},
}

#: Operations whose result is the same in all invocations that execute them together.
_AGREEING = frozenset(
    name
    for name, operation in OPERATIONS.items()
    if operation.group_operation == "Reduce"
    or name in ("subgroupAll", "subgroupAny", "subgroupBallot", "subgroupBroadcastFirst", "subgroupAllEqual")
)

ANY_ACTIVE = Communicate("subgroupBallot", "bool", (Literal("bool", (1,)),))
"""The ballot of everybody who is there: never empty."""

LAST_ACTIVE = Communicate("subgroupBallotFindMSB", "uvec4", (ANY_ACTIVE,))
FIRST_ACTIVE = Communicate("subgroupBallotFindLSB", "uvec4", (ANY_ACTIVE,))


@dataclass(frozen=True)
class Place:
    """What holds where a statement stands.

    Attributes
    ----------
    together : whether it is known which invocations execute this together.
    breakable, continuable, returnable : whether a `Leave` may go there, from any invocation.
    counters : loops around, whether or not their counters are uniform.
    uniform_counters : those whose counter is the same in all invocations that are together.
    """

    promise: Promise
    together: bool = True
    breakable: bool = False
    continuable: bool = False
    returnable: bool = True
    counters: frozenset[int] = frozenset()
    uniform_counters: frozenset[int] = frozenset()

    def is_uniform(self, expression: Expression) -> bool:
        """Whether an expression is the same in all invocations that are together here."""
        if isinstance(expression, Literal):
            return True
        if isinstance(expression, Builtin):
            return expression.name in _UNIFORM_BUILTINS[self.promise]
        if isinstance(expression, Counter):
            return expression.number in self.uniform_counters
        if isinstance(expression, Apply):
            return all(self.is_uniform(argument) for argument in expression.arguments)
        if isinstance(expression, Compare):
            return self.is_uniform(expression.left) and self.is_uniform(expression.right)
        if isinstance(expression, ToWord):
            return self.is_uniform(expression.value)
        if isinstance(expression, FromWord):
            return self.is_uniform(expression.word)
        if isinstance(expression, Communicate):
            # Of a subgroup, not of the workgroup.
            if self.promise is Promise.WORKGROUP:
                return False
            return expression.operation in _AGREEING or expression in (FIRST_ACTIVE, LAST_ACTIVE)
        return False

    def _apart(self) -> Place:
        """Return the place inside a construct into which invocations go different ways."""
        if self.promise is Promise.MAXIMAL:
            return self
        return replace(self, together=False, breakable=False, continuable=False, returnable=False)

    def branch(self, condition: Expression) -> Place:
        """Return the place inside a selection."""
        return self if self.is_uniform(condition) else self._apart()

    def loop(self, loop: Loop) -> Place:
        """Return the place inside a loop's body."""
        voted = bool(loop.vote) and self.promise is not Promise.WORKGROUP
        # The trips are evaluated anew each time, where the loop's own counter is not yet known.
        place = self if voted or self.is_uniform(loop.trips) else self._apart()
        return replace(
            place,
            breakable=True,
            continuable=True,
            counters=place.counters | {loop.number},
            uniform_counters=place.uniform_counters | ({loop.number} if place.together else set()),
        )

    def case(self, switch: Switch, index: int) -> Place:
        """Return the place inside a case of a switch."""
        if self.is_uniform(switch.selector):
            return replace(self, breakable=True)
        place = replace(self._apart(), breakable=True)
        return place if is_sharp(switch, index) else replace(place, together=False)


def function_place(promise: Promise, together: bool) -> Place:
    """Return the place at the beginning of a function."""
    # Only maximal reconvergence brings those together again that returned at different places.
    return Place(promise, together=together, returnable=together or promise is Promise.MAXIMAL)


def is_sharp(switch: Switch, index: int) -> bool:
    """Whether exactly one selector value reaches a case, and nothing falls into it."""
    case = switch.cases[index]
    labelled = {label for other in switch.cases for label in other.labels}
    values = len(case.labels) + (len(set(range(switch.modulus)) - labelled) if case.default else 0)
    return values == 1 and not (index and switch.cases[index - 1].falls)


def may_be_undefined(call: Communicate, subgroup_size: int) -> bool:
    """Whether some result of an operation may be undefined, going by the operation and its second operand.

    Parameters
    ----------
    subgroup_size : the smallest on which the program is to run.
    """
    operation = OPERATIONS[call.operation]
    kinds = [operand.kind for operand in operation.operands]
    if any(is_soft(argument) for argument in call.arguments):
        return True
    second = call.arguments[1] if len(call.arguments) > 1 else None
    if OperandKind.CLUSTER_SIZE in kinds:
        return not isinstance(second, Literal) or second.components[0] > subgroup_size
    if OperandKind.ID in kinds:
        own = second == Builtin("gl_SubgroupInvocationID") and call.operation == "subgroupShuffle"
        return not (own or second in (FIRST_ACTIVE, LAST_ACTIVE))
    if call.operation in ("subgroupBallotFindLSB", "subgroupBallotFindMSB"):
        return call.arguments[0] != ANY_ACTIVE
    if call.operation == "subgroupBallotBitExtract":
        return not (isinstance(second, Apply) and second.operator == "%")
    moves = {OperandKind.MASK, OperandKind.DELTA}
    return bool(moves & set(kinds)) or call.operation.startswith("subgroupQuad")


def is_soft(expression: Expression) -> bool:
    """Whether an expression reads a variable that may hold an undefined value."""
    return any(isinstance(node, Read) and node.variable.soft for node in walk(expression))


def faults(program: Program, subgroup_size: int) -> list[str]:
    """Say which rules a program breaks; empty if none.

    Parameters
    ----------
    subgroup_size : the smallest on which it is to run.
    """
    checker = _Checker(program, subgroup_size)
    found = list(checker.block(program.body, Place(program.promise)))
    for function in program.functions:
        found += checker.block(function.body, function_place(program.promise, function.together))
    return found


class _Checker:
    """Walks a program with the place of each statement."""

    def __init__(self, program: Program, subgroup_size: int) -> None:
        self.functions = {function.number: function for function in program.functions}
        self.subgroup_size = subgroup_size

    def block(self, block: Block, place: Place) -> Iterator[str]:
        for statement in block:
            yield from self.statement(statement, place)

    def statement(self, statement: Statement, place: Place) -> Iterator[str]:
        yield from self._expressions(statement, place)
        if isinstance(statement, If):
            inside = place.branch(statement.condition)
            yield from self.block(statement.then, inside)
            yield from self.block(statement.otherwise, inside)
        elif isinstance(statement, Loop):
            yield from self.block(statement.body, place.loop(statement))
        elif isinstance(statement, Switch):
            yield from self._switch(statement, place)
        elif isinstance(statement, Leave):
            yield from self._leave(statement, place)
        elif isinstance(statement, Call):
            yield from self._call(statement, place)

    def _call(self, call: Call, place: Place) -> Iterator[str]:
        function = self.functions[call.function]
        if function.together and not place.together:
            yield f"function {call.function} is called where it is not known who is together"
        if function.result.soft:
            yield "a function returns what may be undefined"

    def _switch(self, switch: Switch, place: Place) -> Iterator[str]:
        labels = [label for case in switch.cases for label in case.labels]
        if len(set(labels)) != len(labels) or sum(case.default for case in switch.cases) > 1:
            yield "a label stands twice in a switch"
        if not switch.cases:
            yield "a switch has no case"
        elif switch.cases[-1].falls:
            yield "the last case falls through"
        for index, case in enumerate(switch.cases):
            if not case.labels and not case.default:
                yield "a case has no label"
            yield from self.block(case.body, place.case(switch, index))

    def _leave(self, leave: Leave, place: Place) -> Iterator[str]:
        allowed = {
            "break": place.breakable,
            "continue": place.continuable,
            "return": place.returnable,
        }
        if not allowed[leave.kind]:
            yield f"{leave.kind} where it leads out of a construct that it must not leave"
        if place.promise is Promise.MAXIMAL or not place.together or leave.condition is None:
            return
        if not place.is_uniform(leave.condition):
            yield f"{leave.kind} lets invocations part that must stay together"

    def _expressions(self, statement: Statement, place: Place) -> Iterator[str]:
        """Check the expressions of one statement, not those of the statements in it."""
        for expression, firm in _parts(statement):
            if firm and is_soft(expression):
                yield f"{type(statement).__name__} depends on a value that may be undefined"
            for node in walk(expression):
                if isinstance(node, Counter) and node.number not in place.counters:
                    yield f"the counter of loop {node.number} is read outside of it"
                if isinstance(node, Communicate):
                    yield from self._communicate(node, place)
                elif _hides_communication(node):
                    yield "a subgroup operation stands inside another expression"
                if isinstance(node, Apply) and node.operator in ("&&", "||") and is_soft(node):
                    # Their second operand is evaluated in a branch.
                    yield f"{node.operator} depends on a value that may be undefined"
        if isinstance(statement, Loop) and statement.vote and not place.together:
            yield "a loop votes where it is not known who is together"
        if isinstance(statement, Operate) and statement.target is not None:
            undefined = may_be_undefined(statement.call, self.subgroup_size)
            if undefined and not statement.target.soft:
                yield f"{statement.call.operation} may be undefined, and is kept in a firm variable"

    def _communicate(self, call: Communicate, place: Place) -> Iterator[str]:
        if not place.together:
            yield f"{call.operation} where it is not known who is together"
        for operand, argument in zip(OPERATIONS[call.operation].operands, call.arguments, strict=True):
            constant = operand.constant and operand.kind is OperandKind.CLUSTER_SIZE
            if constant and not isinstance(argument, Literal):
                yield f"{call.operation} needs a constant"
            if operand.constant and not self._agrees(argument, place):
                yield f"{call.operation} needs an operand that is uniform"
        if call.operation == "subgroupInverseBallot" and not self._agrees(call.arguments[0], place):
            yield "subgroupInverseBallot needs an operand that is uniform"

    @staticmethod
    def _agrees(argument: Expression, place: Place) -> bool:
        """Whether an operand is the same in a subgroup's invocations: less than a workgroup's."""
        return replace(place, promise=Promise.MAXIMAL).is_uniform(argument)


def _hides_communication(node: object) -> bool:
    """Whether a node has a subgroup operation as a part that a compiler might put into a branch."""
    if not isinstance(node, Apply | Compare | ToWord | FromWord):
        return False
    return any(isinstance(part, Communicate) for part in walk(node))


def _parts(statement: Statement) -> Iterator[tuple[Expression, bool]]:
    """Yield the expressions of a statement itself, and whether they must be defined."""
    if isinstance(statement, Set):
        yield statement.value, not statement.target.soft
    elif isinstance(statement, Operate):
        yield statement.call, False
        for argument in statement.call.arguments[1:]:
            yield argument, True
    elif isinstance(statement, Record):
        yield statement.value, False
    elif isinstance(statement, If):
        yield statement.condition, True
    elif isinstance(statement, Loop):
        yield statement.trips, True
    elif isinstance(statement, Switch):
        yield statement.selector, True
    elif isinstance(statement, Leave):
        if statement.condition is not None:
            yield statement.condition, True
        if statement.value is not None:
            yield statement.value, True
    elif isinstance(statement, Call):
        yield from ((argument, True) for argument in statement.arguments)
