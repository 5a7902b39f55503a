"""Smaller programs that differ from a program in one change: the candidates of the shrinker.

Some of them break the rules of `vkgroup.programs.rules`; the shrinker discards these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

from vkgroup.programs.nodes import (
    Apply,
    Block,
    Call,
    Case,
    Communicate,
    Compare,
    Condition,
    Expression,
    Fixed,
    Function,
    If,
    Jump,
    Literal,
    Loop,
    Not,
    Number,
    Operate,
    Program,
    Read,
    Set,
    Statement,
    Switch,
    Uniform,
    Vote,
    called_functions,
    count_statements,
    nodes_of,
    type_of,
    walk,
)
from vkgroup.programs.rules import ANY_ACTIVE
from vkgroup.spec.types import TYPES

LOCAL_SIZES = (1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 128)
"""Invocations of a workgroup to try: full and partial subgroups of the usual sizes."""

Change = Callable[[Statement], Iterator[Block]]
"""Yields blocks that may replace a statement."""


def weight(program: Program) -> tuple[int, ...]:
    """Return the size of a program, to be compared; a smaller one is better."""
    nodes = list(nodes_of(program))
    loops = [node for node in nodes if isinstance(node, Loop)]
    unusual = sum((loop.form != "for") + 2 * bool(loop.vote) + (loop.limit or 0) for loop in loops)
    unusual += sum(isinstance(node, Case) and node.falls for node in nodes)
    varying = sum(isinstance(node, Condition | Number) and not _is_constant(node) for node in nodes)
    return (
        # Inlining a function is worth the assignments that it costs.
        count_statements(program) + 6 * len(program.functions),
        len(nodes),
        varying + unusual,
        sum(sum(node.components) for node in nodes if isinstance(node, Literal)),
        program.invocations,
    )


def structural(program: Program) -> Iterator[Program]:
    """Yield programs with a smaller dispatch, fewer statements or simpler ones."""
    yield replace(program, groups=1)
    yield from (replace(program, local_size=(x, 1, 1)) for x in LOCAL_SIZES)
    functions = {function.number: function for function in program.functions}
    yield from _changed(program, partial(_alternatives, functions=functions), removals=True)


def expressional(program: Program) -> Iterator[Program]:
    """Yield programs with one simpler expression."""
    yield from _changed(program, _simpler_expressions, removals=False)


def _changed(program: Program, change: Change, *, removals: bool) -> Iterator[Program]:
    """Yield programs with one statement changed, without the functions that are no longer called."""
    for block in _blocks(program.body, change, removals):
        yield _pruned(replace(program, body=block))
    for at, function in enumerate(program.functions):
        for block in _blocks(function.body, change, removals):
            functions = (
                *program.functions[:at], replace(function, body=block), *program.functions[at + 1 :]
            )  # fmt: skip
            yield _pruned(replace(program, functions=functions))


def _pruned(program: Program) -> Program:
    """Return a program without the functions that are not called."""
    return replace(program, functions=called_functions(program))


def _blocks(block: Block, change: Change, removals: bool) -> Iterator[Block]:
    """Yield variants of a block: without some statements, with one replaced, or with one changed inside."""
    length = max(len(block) // 2, 1)
    while removals and length:
        for first in range(0, len(block), length):
            yield block[:first] + block[first + length :]
        length //= 2
    for at, statement in enumerate(block):
        before, after = block[:at], block[at + 1 :]
        for replacement in change(statement):
            yield before + replacement + after
        for changed in _nested(statement, change, removals):
            yield (*before, changed, *after)


def _nested(node: Any, change: Change, removals: bool) -> Iterator[Any]:
    """Yield variants of a statement or a case with a change in one of the blocks in it."""
    for field in fields(node):
        value = getattr(node, field.name)
        if not isinstance(value, tuple) or not value:
            continue
        if isinstance(value[0], Case):
            for at, case in enumerate(value):
                for changed in _nested(case, change, removals):
                    yield replace(node, **{field.name: (*value[:at], changed, *value[at + 1 :])})
        elif isinstance(value[0], Statement):
            for block in _blocks(value, change, removals):
                yield replace(node, **{field.name: block})


# Simpler statements


def _alternatives(statement: Statement, functions: dict[int, Function]) -> Iterator[Block]:
    """Yield simpler blocks that may replace a statement."""
    if isinstance(statement, If):
        yield from (statement.then, statement.otherwise, statement.then + statement.otherwise)
        if statement.otherwise:
            yield (replace(statement, otherwise=()),)
    elif isinstance(statement, Loop):
        yield from _simpler_loops(statement)
    elif isinstance(statement, Switch):
        yield from _simpler_switches(statement)
    elif isinstance(statement, Operate):
        if statement.call != ANY_ACTIVE:
            yield (Operate(statement.step, ANY_ACTIVE),)
        if statement.target is not None:
            yield (replace(statement, target=None),)
    elif isinstance(statement, Jump) and statement.condition is not None:
        yield (replace(statement, condition=None),)
    elif isinstance(statement, Call):
        yield from _inlined(statement, functions[statement.function])


def _inlined(call: Call, function: Function) -> Iterator[Block]:
    """Yield the body of a function in place of a call."""
    if function.result is None or call.target is None:
        yield function.body
        yield _without_jumps(function.body, ("return",))
        return
    given = tuple(Set(p, a) for p, a in zip(function.parameters, call.arguments, strict=True))
    body = _without_jumps(function.body, ("return",))
    yield (*given, *body, Set(call.target, Read(function.result)))


def _simpler_loops(loop: Loop) -> Iterator[Block]:
    yield _without_jumps(loop.body + loop.rest, ("break", "continue"))
    if loop.between is not None:
        yield (replace(loop, between=None),)
    if loop.trips is None:
        return
    if loop.vote:
        yield (replace(loop, vote=""),)
    if loop.form != "for":
        yield (replace(loop, form="for", body=loop.body + loop.rest, rest=()),)
    if loop.limit is None:
        return
    constant = Literal("uint", (loop.limit,))
    if loop.trips != constant:
        yield (replace(loop, trips=constant),)
        if loop.limit > 1:
            yield (replace(loop, limit=loop.limit - 1),)
    elif loop.limit > 1:
        yield (replace(loop, limit=loop.limit - 1, trips=Literal("uint", (loop.limit - 1,))),)


def _simpler_switches(switch: Switch) -> Iterator[Block]:
    for case in switch.cases:
        yield _without_jumps(case.body, ("break",))
    for at, case in enumerate(switch.cases):
        others = switch.cases[:at] + switch.cases[at + 1 :]
        if others:
            yield (replace(switch, cases=(*others[:-1], replace(others[-1], falls=False))),)
        if case.falls:
            cases = (*switch.cases[:at], replace(case, falls=False), *switch.cases[at + 1 :])
            yield (replace(switch, cases=cases),)
        if case.labels and switch.modulus is not None:
            selector = Apply("%", "uint", (switch.selector, Literal("uint", (switch.modulus,))))
            condition = Compare("==", selector, Literal("uint", (case.labels[0],)))
            yield (If(condition, _without_jumps(case.body, ("break",))),)


def _without_jumps(block: Block, kinds: tuple[str, ...]) -> Block:
    """Return a block without the jumps that belong to the construct, or function, around it."""

    def without(statement: Statement) -> Block:
        if isinstance(statement, Jump):
            return () if statement.kind in kinds else (statement,)
        if isinstance(statement, If):
            then, otherwise = (_without_jumps(b, kinds) for b in (statement.then, statement.otherwise))
            return (replace(statement, then=then, otherwise=otherwise),)
        if isinstance(statement, Loop):
            outer = tuple(kind for kind in kinds if kind == "return")
            body, rest = (_without_jumps(b, outer) for b in (statement.body, statement.rest))
            return (replace(statement, body=body, rest=rest),)
        if isinstance(statement, Switch):
            outer = tuple(kind for kind in kinds if kind != "break")
            cases = (replace(case, body=_without_jumps(case.body, outer)) for case in statement.cases)
            return (replace(statement, cases=tuple(cases)),)
        return (statement,)

    return tuple(new for old in block for new in without(old))


# Simpler expressions


def _simpler_expressions(statement: Statement) -> Iterator[Block]:
    """Yield a statement with one of its own expressions made simpler."""
    # Programs that record observations have loops without limit and switches without modulus.
    from_memory = isinstance(statement, Loop | Switch) and _of_observations(statement)
    for field in fields(statement):
        held = getattr(statement, field.name)
        if isinstance(statement, Operate) and field.name == "call":
            for new in _simpler_values(held):
                if isinstance(new, Communicate) and type_of(new) == type_of(held):
                    yield (replace(statement, call=new),)
        elif isinstance(held, Condition):
            yield from (_with(statement, field.name, new) for new in simpler_conditions(held))
        elif isinstance(held, Number) and from_memory:
            if not _is_constant(held):
                yield from (_with(statement, field.name, Fixed(value)) for value in range(3))
        elif isinstance(held, Expression):
            yield from (_with(statement, field.name, new) for new in _simpler_values(held))
        elif isinstance(statement, Call) and field.name == "arguments":
            for new in _simpler_arguments(held):
                yield (replace(statement, arguments=new),)


def _with(statement: Statement, field: str, value: Expression) -> Block:
    changed: Statement = replace(statement, **{field: value})  # type: ignore[arg-type]
    return (changed,)


def _of_observations(statement: Loop | Switch) -> bool:
    return (statement.limit if isinstance(statement, Loop) else statement.modulus) is None


def simpler_conditions(condition: Condition) -> Iterator[Condition]:
    """Yield simpler conditions that the simulator can evaluate."""
    if isinstance(condition, Uniform):
        return
    yield from (Uniform(True), Uniform(False))
    if isinstance(condition, Not | Vote):
        yield condition.condition
        for inner in simpler_conditions(condition.condition):
            yield replace(condition, condition=inner)


def _is_constant(decision: Expression) -> bool:
    """Whether a condition or number is the same for all invocations, read from memory: nothing is simpler."""
    return isinstance(decision, Uniform | Fixed)


def _simpler_values(e: Any) -> Iterator[Any]:
    """Yield simpler expressions of the same type, one change each."""
    kind = type_of(e)
    for part in walk(e):
        if part is not e and isinstance(part, Expression) and type_of(part) == kind:
            yield part
    if not isinstance(e, Literal):
        count = TYPES[kind].components
        yield Literal(kind, (0,) * count)
        yield Literal(kind, (1,) * count)
    for field in fields(e):
        held = getattr(e, field.name)
        if isinstance(held, Expression):
            yield from (replace(e, **{field.name: new}) for new in _simpler_values(held))
        elif field.name == "arguments":
            yield from (replace(e, arguments=new) for new in _simpler_arguments(held))


def _simpler_arguments(arguments: tuple[Expression, ...]) -> Iterator[tuple[Expression, ...]]:
    for at, argument in enumerate(arguments):
        for new in _simpler_values(argument):
            yield (*arguments[:at], new, *arguments[at + 1 :])
