"""Rules that keep a program's results defined: the allowed positions of each statement.

The generator follows them, and the shrinker discards programs that break them. Both profiles share the rules
of structure (`_Checker`): jumps have a target, counters are read inside their loop, labels are unique.

Programs that record values (`value_faults`) also need that

* subgroup operations occur only where the reconvergence guarantee determines the active invocations, and
* no branch, loop or id depends on a value that may be undefined.

In programs that record observations (`observation_faults`), elections with an unknown outcome may control
only unpredictable constructs, whose observations are not compared.

Even under maximal reconvergence, the active invocations in a case of a switch may be unknown: invocations
that reach it by different selectors, or by falling through from another case, may be together or apart
(SPV_KHR_maximal_reconvergence, "Divergence" and "Reconvergence"). They are known if exactly one selector
value reaches the case and no other case falls through into it, or if the selector is uniform.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vkgroup.programs import nodes
from vkgroup.programs.traversal import children, walk
from vkgroup.spec.operations import OPERATIONS, OperandKind

#: Operations whose result is the same in all invocations that execute them together.
_UNIFORM_RESULTS = frozenset(
    name
    for name, operation in OPERATIONS.items()
    if operation.group_operation == "Reduce"
    or name in ("subgroupAll", "subgroupAny", "subgroupBallot", "subgroupBroadcastFirst", "subgroupAllEqual")
)

ANY_ACTIVE = nodes.Communicate("subgroupBallot", "bool", (nodes.Literal("bool", (1,)),))
"""The ballot of all active invocations: never empty."""

LAST_ACTIVE = nodes.Communicate("subgroupBallotFindMSB", "uvec4", (ANY_ACTIVE,))
FIRST_ACTIVE = nodes.Communicate("subgroupBallotFindLSB", "uvec4", (ANY_ACTIVE,))

NO_JUMPS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class StatementContext:
    """Properties of the position of a statement."""

    promise: nodes.Promise  # of the program
    together: bool = True  # whether the active invocations are known
    jumps: frozenset[str] = frozenset({"return"})  # the kinds of `Jump` that are allowed, for any invocation
    loops: frozenset[int] = frozenset()  # numbers of the enclosing loops of this function
    #: Loops whose counter is the same in all active invocations.
    uniform_counters: frozenset[int] = frozenset()
    #: Whether the active invocations depend on elections with unknown outcome.
    unpredictable: bool = False

    def with_jumps(self, *more: str, less: str = "") -> StatementContext:
        """Return the context with other jumps."""
        return replace(self, jumps=(self.jumps | set(more)) - {less})

    def is_uniform(self, expression: nodes.Expression) -> bool:
        """Whether an expression is the same in all active invocations."""
        if isinstance(expression, nodes.Builtin):
            of_workgroup = expression.name in ("gl_WorkGroupID.x", "gl_SubgroupSize")
            of_subgroup = self.promise is not nodes.Promise.WORKGROUP and expression.name == "gl_SubgroupID"
            return of_workgroup or of_subgroup
        if isinstance(expression, nodes.Counter):
            return expression.loop in self.uniform_counters
        if isinstance(expression, nodes.Communicate):
            # The result is uniform in a subgroup, not in the workgroup.
            if self.promise is nodes.Promise.WORKGROUP:
                return False
            return expression.operation in _UNIFORM_RESULTS or expression in (FIRST_ACTIVE, LAST_ACTIVE)
        computed = nodes.Literal | nodes.Apply | nodes.Compare | nodes.ToWord | nodes.FromWord
        return isinstance(expression, computed) and all(map(self.is_uniform, children(expression)))

    def _divergent(self) -> StatementContext:
        """Return the context inside a construct that invocations enter on different paths."""
        if self.promise is nodes.Promise.MAXIMAL:
            return self
        return replace(self, together=False, jumps=NO_JUMPS)

    def branch(self, condition: nodes.Expression) -> StatementContext:
        """Return the context inside a selection."""
        return self if self.is_uniform(condition) else self._divergent()

    def loop(self, loop: nodes.Loop) -> StatementContext:
        """Return the context inside a loop's body."""
        voted = bool(loop.vote) and self.promise is not nodes.Promise.WORKGROUP
        # The trips are evaluated before each trip, where the loop's own counter is not yet known.
        uniform = voted or (loop.trips is not None and self.is_uniform(loop.trips))
        context = self if uniform else self._divergent()
        counters = context.uniform_counters | ({loop.number} if context.together else set())
        context = replace(context, loops=context.loops | {loop.number}, uniform_counters=counters)
        return context.with_jumps("break", "continue")

    def case(self, switch: nodes.Switch, index: int) -> StatementContext:
        """Return the context inside a case of a switch."""
        if self.is_uniform(switch.selector):
            return self.with_jumps("break")
        context = self._divergent().with_jumps("break")
        return context if _has_one_value(switch, index) else replace(context, together=False)


def function_context(promise: nodes.Promise, together: bool) -> StatementContext:
    """Return the context at the start of a function with a result."""
    # Without maximal reconvergence, invocations that returned at different statements stay apart.
    returns = together or promise is nodes.Promise.MAXIMAL
    return StatementContext(promise, together=together, jumps=frozenset({"return"}) if returns else NO_JUMPS)


def _has_one_value(switch: nodes.Switch, index: int) -> bool:
    """Whether exactly one selector value reaches a case, and no case falls through into it."""
    case = switch.cases[index]
    labelled = {label for other in switch.cases for label in other.labels}
    values = len(case.labels)
    if case.default:
        if switch.modulus is None:
            return False
        values += len(set(range(switch.modulus)) - labelled)
    return values == 1 and not (index and switch.cases[index - 1].falls)


def may_be_undefined(call: nodes.Communicate, subgroup_size: int) -> bool:
    """Whether an operation's second operand may make its result undefined."""
    operation = OPERATIONS[call.operation]
    kinds = [operand.kind for operand in operation.operands]
    if any(reads_undefined(argument) for argument in call.arguments):
        return True
    second = call.arguments[1] if len(call.arguments) > 1 else None
    if OperandKind.CLUSTER_SIZE in kinds:
        return not isinstance(second, nodes.Literal) or second.components[0] > subgroup_size
    if OperandKind.ID in kinds:
        own = second == nodes.Builtin("gl_SubgroupInvocationID") and call.operation == "subgroupShuffle"
        return not (own or second in (FIRST_ACTIVE, LAST_ACTIVE))
    if call.operation in ("subgroupBallotFindLSB", "subgroupBallotFindMSB"):
        return call.arguments[0] != ANY_ACTIVE
    if call.operation == "subgroupBallotBitExtract":
        return not (isinstance(second, nodes.Apply) and second.operator == "%")
    moves = {OperandKind.MASK, OperandKind.DELTA}
    return bool(moves & set(kinds)) or call.operation.startswith("subgroupQuad")


def reads_undefined(expression: nodes.Expression) -> bool:
    """Whether an expression reads a variable that may hold an undefined value."""
    return any(isinstance(node, nodes.VariableRead) and node.variable.undefined for node in walk(expression))


def value_faults(program: nodes.RandomProgram, subgroup_size: int) -> list[str]:
    """Return the broken rules of a program that records values, on subgroups of at least this size."""
    checker = _ValueChecker(program, subgroup_size)
    faults = list(checker.block(program.body, StatementContext(program.promise)))
    for function in program.functions:
        faults += checker.block(function.body, function_context(program.promise, function.together))
    return faults


def observation_faults(program: nodes.RandomProgram) -> list[str]:
    """Return the broken rules of a program that records observations.

    Only rules that the removal of parts of a program can break are checked. Under maximal reconvergence the
    generator puts elections only where the active invocations are known. Removal preserves this, because
    parts move outward and switches keep their labels.
    """
    return list(_ObservationChecker(program).block(program.body, StatementContext(program.promise)))


class _Checker:
    """Walks a program with the context of each statement; yields broken rules of structure."""

    def __init__(self, program: nodes.RandomProgram) -> None:
        self.functions = {function.number: function for function in program.functions}

    def block(self, block: nodes.Block, context: StatementContext) -> Iterator[str]:
        names = [f"trip{s.number}" for s in block if isinstance(s, nodes.Loop)]
        names += [f"step{s.step}" for s in block if isinstance(s, nodes.Operate)]
        if len(names) > len(set(names)):
            yield "a block declares the same name twice"
        for statement in block:
            yield from self.statement(statement, context)

    def statement(self, statement: nodes.Statement, context: StatementContext) -> Iterator[str]:
        for expression, _ in _expressions(statement):
            for node in walk(expression):
                if isinstance(node, nodes.Counter | nodes.TripIs) and node.loop not in context.loops:
                    yield f"the counter of loop {node.loop} is read outside the loop"
        if isinstance(statement, nodes.If):
            yield from self.selection(statement, context)
        elif isinstance(statement, nodes.Loop):
            if statement.number in context.loops:
                yield f"loop {statement.number} stands inside itself"
            yield from self.loop(statement, context)
        elif isinstance(statement, nodes.Switch):
            yield from self._switch(statement, context)
        elif isinstance(statement, nodes.Jump):
            yield from self.jump(statement, context)
        elif isinstance(statement, nodes.FunctionCall):
            yield from self.call(statement, context)

    def selection(self, selection: nodes.If, context: StatementContext) -> Iterator[str]:
        inside = self.inside(selection, context)
        yield from self.block(selection.then, inside)
        yield from self.block(selection.otherwise, inside)

    def loop(self, loop: nodes.Loop, context: StatementContext) -> Iterator[str]:
        """Yield the faults of a loop without exit by election."""
        inside = self.inside(loop, context)
        # An invocation that continues before the only exit never ends.
        yield from self.block(loop.body, inside.with_jumps(less="continue" * (loop.form == "endless")))
        yield from self.block(loop.rest, inside)
        if loop.between is not None:
            yield from self.statement(loop.between, replace(inside, jumps=NO_JUMPS))

    def _switch(self, switch: nodes.Switch, context: StatementContext) -> Iterator[str]:
        labels = [label for case in switch.cases for label in case.labels]
        if len(set(labels)) != len(labels) or sum(case.default for case in switch.cases) > 1:
            yield "a switch has the same label twice"
        if not switch.cases:
            yield "a switch has no case"
        elif switch.cases[-1].falls and not switch.cases[-1].body:
            yield "no statement follows the last label of a switch"
        for index, case in enumerate(switch.cases):
            if not case.labels and not case.default:
                yield "a case has no label"
            yield from self.block(case.body, self.inside(switch, context, index))

    def jump(self, jump: nodes.Jump, context: StatementContext) -> Iterator[str]:
        if jump.kind not in context.jumps:
            yield f"{jump.kind} leaves a construct that must not be left here"

    def call(self, call: nodes.FunctionCall, context: StatementContext) -> Iterator[str]:
        """Yield the faults of a call."""
        raise NotImplementedError

    def inside(
        self, construct: nodes.If | nodes.Loop | nodes.Switch, context: StatementContext, index: int = 0
    ) -> StatementContext:
        """Return the context inside a construct; of a switch inside the case of this index."""
        raise NotImplementedError


class _ValueChecker(_Checker):
    def __init__(self, program: nodes.RandomProgram, subgroup_size: int) -> None:
        super().__init__(program)
        self.subgroup_size = subgroup_size

    def inside(
        self, construct: nodes.If | nodes.Loop | nodes.Switch, context: StatementContext, index: int = 0
    ) -> StatementContext:
        if isinstance(construct, nodes.If):
            return context.branch(construct.condition)
        return (
            context.loop(construct) if isinstance(construct, nodes.Loop) else context.case(construct, index)
        )

    def statement(self, statement: nodes.Statement, context: StatementContext) -> Iterator[str]:
        yield from self._values(statement, context)
        yield from super().statement(statement, context)

    def call(self, call: nodes.FunctionCall, context: StatementContext) -> Iterator[str]:
        function = self.functions[call.function]
        if function.together and not context.together:
            yield f"function {call.function} is called where the active invocations are unknown"
        if function.result is not None and function.result.undefined:
            yield "a function returns a value that may be undefined"

    def jump(self, jump: nodes.Jump, context: StatementContext) -> Iterator[str]:
        yield from super().jump(jump, context)
        if context.promise is nodes.Promise.MAXIMAL or not context.together or jump.condition is None:
            return
        if not context.is_uniform(jump.condition):
            yield f"{jump.kind} makes invocations diverge that must stay together"

    def _values(self, statement: nodes.Statement, context: StatementContext) -> Iterator[str]:
        """Check the expressions of one statement, not those of the statements in it."""
        for expression, defined in _expressions(statement):
            if defined and reads_undefined(expression):
                yield f"{type(statement).__name__} depends on a value that may be undefined"
            for node in walk(expression):
                if isinstance(node, nodes.Communicate):
                    yield from self._communicate(node, context)
                elif _contains_communication(node):
                    yield "a subgroup operation stands inside another expression"
                if isinstance(node, nodes.Apply) and node.operator in ("&&", "||") and reads_undefined(node):
                    # GLSL evaluates their second operand in a branch.
                    yield f"{node.operator} depends on a value that may be undefined"
        if isinstance(statement, nodes.Loop) and statement.vote and not context.together:
            yield "a loop votes where the active invocations are unknown"
        if isinstance(statement, nodes.Operate) and statement.target is not None:
            undefined = may_be_undefined(statement.call, self.subgroup_size)
            if undefined and not statement.target.undefined:
                yield f"{statement.call.operation} may be undefined, and its target may not"

    def _communicate(self, call: nodes.Communicate, context: StatementContext) -> Iterator[str]:
        if not context.together:
            yield f"{call.operation} where the active invocations are unknown"
        # These operands must be uniform in a subgroup under any guarantee.
        of_subgroup = replace(context, promise=nodes.Promise.MAXIMAL)
        for operand, argument in zip(OPERATIONS[call.operation].operands, call.arguments, strict=True):
            constant = operand.constant and operand.kind is OperandKind.CLUSTER_SIZE
            if constant and not isinstance(argument, nodes.Literal):
                yield f"{call.operation} needs a constant"
            if operand.constant and not of_subgroup.is_uniform(argument):
                yield f"{call.operation} needs an operand that is uniform"
        if call.operation == "subgroupInverseBallot" and not of_subgroup.is_uniform(call.arguments[0]):
            yield "subgroupInverseBallot needs an operand that is uniform"


class _ObservationChecker(_Checker):
    def __init__(self, program: nodes.RandomProgram) -> None:
        super().__init__(program)
        self._elections = program.promise is nodes.Promise.MAXIMAL

    def inside(
        self, construct: nodes.If | nodes.Loop | nodes.Switch, context: StatementContext, index: int = 0
    ) -> StatementContext:
        if isinstance(construct, nodes.Switch):
            return context.with_jumps("break")
        if isinstance(construct, nodes.Loop):
            unpredictable = context.unpredictable or construct.unpredictable
            inside = replace(context, loops=context.loops | {construct.number}, unpredictable=unpredictable)
            return inside.with_jumps("break", "continue")
        if construct.unpredictable and not context.unpredictable:
            # Unknown paths begin here and must end at the end of the construct.
            return replace(context, jumps=NO_JUMPS, unpredictable=True)
        return context

    def statement(self, statement: nodes.Statement, context: StatementContext) -> Iterator[str]:
        if isinstance(statement, nodes.Observe) and context.unpredictable and not statement.unpredictable:
            yield f"observation {statement.place} is compared where the active invocations are unknown"
        yield from super().statement(statement, context)

    def call(self, call: nodes.FunctionCall, context: StatementContext) -> Iterator[str]:
        jumps = NO_JUMPS if context.unpredictable else frozenset({"return"})
        inside = StatementContext(context.promise, jumps=jumps, unpredictable=context.unpredictable)
        yield from self.block(self.functions[call.function].body, inside)

    def selection(self, selection: nodes.If, context: StatementContext) -> Iterator[str]:
        elects = any(isinstance(node, nodes.Elect) for node in walk(selection.condition))
        if elects and not (self._elections or self.inside(selection, context).unpredictable):
            yield "an election with unknown outcome decides a branch that is compared"
        yield from super().selection(selection, context)

    def loop(self, loop: nodes.Loop, context: StatementContext) -> Iterator[str]:
        if loop.form != "elect":
            yield from super().loop(loop, context)
            return
        inside = self.inside(loop, context)
        if not (self._elections or inside.unpredictable):
            yield "elections with unknown outcome end a loop that is compared"
        if loop.exit == "return" and "return" not in context.jumps:
            yield "the elected invocation returns where it must not"
        jumps = context.jumps & {"return"} if not inside.unpredictable else NO_JUMPS
        if not (inside.unpredictable and loop.exit == "return"):
            jumps |= {"break"}
        for block in (loop.body, loop.rest):
            yield from self.block(block, replace(inside, jumps=jumps))
        observed = tuple(one for one in (loop.between, loop.carried) if one is not None)
        for block in (loop.before_exit, observed):
            yield from self.block(block, replace(inside, jumps=NO_JUMPS))


def _contains_communication(node: object) -> bool:
    """Whether a node contains a subgroup operation, which a compiler might move into a branch."""
    if not isinstance(node, nodes.Apply | nodes.Compare | nodes.ToWord | nodes.FromWord):
        return False
    return any(isinstance(part, nodes.Communicate) for part in walk(node))


def _expressions(statement: nodes.Statement) -> Iterator[tuple[nodes.Expression, bool]]:
    """Yield the expressions of a statement itself, and whether they must be defined."""
    if isinstance(statement, nodes.Set):
        yield statement.value, not statement.target.undefined
    elif isinstance(statement, nodes.Operate):
        yield statement.call, False
        for argument in statement.call.arguments[1:]:
            yield argument, True
    else:
        needs_definition = not isinstance(statement, nodes.RecordStatement)
        for child in children(statement):
            if isinstance(child, nodes.Expression):
                yield child, needs_definition
