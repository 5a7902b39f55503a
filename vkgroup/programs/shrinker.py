"""Shrinker: a minimal program that still fails, by removing and simplifying statements step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from typing import Any

from vkgroup.programs import nodes
from vkgroup.programs.nodes import RandomProgram, type_of
from vkgroup.programs.rules import ANY_ACTIVE
from vkgroup.programs.traversal import called_functions, count_statements, nodes_of, walk
from vkgroup.spec.types import TYPES

# Smaller programs

LOCAL_SIZES = (1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 128)
"""Invocations of a workgroup to try: full and partial subgroups of the usual sizes."""

Change = Callable[[nodes.Statement], Iterator[nodes.Block]]
"""Yields blocks that may replace a statement."""


def weight(program: nodes.RandomProgram) -> tuple[int, ...]:
    """Return the size of a program as a tuple for comparison; smaller is better."""
    parts = list(nodes_of(program))
    loops = [node for node in parts if isinstance(node, nodes.Loop)]
    unusual = sum((loop.form != "for") + 2 * bool(loop.vote) + (loop.limit or 0) for loop in loops)
    unusual += sum(isinstance(node, nodes.SwitchCase) and node.falls for node in parts)
    decisions = [node for node in parts if isinstance(node, nodes.Condition | nodes.Number)]
    varying = sum(not _is_constant(decision) for decision in decisions)
    return (
        # Inlining a function reduces the size in spite of its added assignments.
        count_statements(program) + 6 * len(program.functions),
        len(parts),
        varying + unusual,
        sum(sum(node.components) for node in parts if isinstance(node, nodes.Literal)),
        program.invocations,
    )


def structural(program: nodes.RandomProgram) -> Iterator[nodes.RandomProgram]:
    """Yield programs with a smaller dispatch, fewer statements or simpler ones."""
    yield replace(program, groups=1)
    yield from (replace(program, local_size=(x, 1, 1)) for x in LOCAL_SIZES)
    functions = {function.number: function for function in program.functions}
    yield from _changed(program, partial(_alternatives, functions=functions), removals=True)


def expressional(program: nodes.RandomProgram) -> Iterator[nodes.RandomProgram]:
    """Yield programs with one simpler expression."""
    yield from _changed(program, _simpler_expressions, removals=False)


def _changed(
    program: nodes.RandomProgram, change: Change, *, removals: bool
) -> Iterator[nodes.RandomProgram]:
    """Yield programs with one statement changed and without functions that are no longer called."""
    for block in _blocks(program.body, change, removals):
        yield _pruned(replace(program, body=block))
    for at, function in enumerate(program.functions):
        for block in _blocks(function.body, change, removals):
            functions = (
                *program.functions[:at], replace(function, body=block), *program.functions[at + 1 :]
            )  # fmt: skip
            yield _pruned(replace(program, functions=functions))


def _pruned(program: nodes.RandomProgram) -> nodes.RandomProgram:
    """Return a program without the functions that are not called."""
    return replace(program, functions=called_functions(program))


def _blocks(block: nodes.Block, change: Change, removals: bool) -> Iterator[nodes.Block]:
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
        if isinstance(value[0], nodes.SwitchCase):
            for at, case in enumerate(value):
                for changed in _nested(case, change, removals):
                    yield replace(node, **{field.name: (*value[:at], changed, *value[at + 1 :])})
        elif isinstance(value[0], nodes.Statement):
            for block in _blocks(value, change, removals):
                yield replace(node, **{field.name: block})


# Simpler statements


def _alternatives(
    statement: nodes.Statement, functions: dict[int, nodes.ProgramFunction]
) -> Iterator[nodes.Block]:
    """Yield simpler blocks that may replace a statement."""
    if isinstance(statement, nodes.If):
        yield from (statement.then, statement.otherwise, statement.then + statement.otherwise)
        if statement.otherwise:
            yield (replace(statement, otherwise=()),)
    elif isinstance(statement, nodes.Loop):
        yield from _simpler_loops(statement)
    elif isinstance(statement, nodes.Switch):
        yield from _simpler_switches(statement)
    elif isinstance(statement, nodes.Operate):
        if statement.call != ANY_ACTIVE:
            yield (nodes.Operate(statement.step, ANY_ACTIVE),)
        if statement.target is not None:
            yield (replace(statement, target=None),)
    elif isinstance(statement, nodes.Jump) and statement.condition is not None:
        yield (replace(statement, condition=None),)
    elif isinstance(statement, nodes.FunctionCall):
        yield from _inlined(statement, functions[statement.function])


def _inlined(call: nodes.FunctionCall, function: nodes.ProgramFunction) -> Iterator[nodes.Block]:
    """Yield the body of a function in place of a call."""
    if function.result is None or call.target is None:
        yield function.body
        yield _without_jumps(function.body, ("return",))
        return
    given = tuple(nodes.Set(p, a) for p, a in zip(function.parameters, call.arguments, strict=True))
    body = _without_jumps(function.body, ("return",))
    yield (*given, *body, nodes.Set(call.target, nodes.VariableRead(function.result)))


def _simpler_loops(loop: nodes.Loop) -> Iterator[nodes.Block]:
    yield _without_jumps(loop.body + loop.rest, ("break", "continue"))
    if loop.between is not None:
        yield (replace(loop, between=None),)
    if loop.carried is not None:
        yield (replace(loop, carried=None),)
    if loop.trips is None:
        return
    if loop.vote:
        yield (replace(loop, vote=""),)
    if loop.form != "for":
        yield (replace(loop, form="for", body=loop.body + loop.rest, rest=()),)
    if loop.limit is None:
        return
    constant = nodes.Literal("uint", (loop.limit,))
    if loop.trips != constant:
        yield (replace(loop, trips=constant),)
        if loop.limit > 1:
            yield (replace(loop, limit=loop.limit - 1),)
    elif loop.limit > 1:
        yield (replace(loop, limit=loop.limit - 1, trips=nodes.Literal("uint", (loop.limit - 1,))),)


def _simpler_switches(switch: nodes.Switch) -> Iterator[nodes.Block]:
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
            selector = nodes.Apply("%", "uint", (switch.selector, nodes.Literal("uint", (switch.modulus,))))
            condition = nodes.Compare("==", selector, nodes.Literal("uint", (case.labels[0],)))
            yield (nodes.If(condition, _without_jumps(case.body, ("break",))),)


def _without_jumps(block: nodes.Block, kinds: tuple[str, ...]) -> nodes.Block:
    """Return a block without the jumps that leave its enclosing construct or function."""

    def without(statement: nodes.Statement) -> nodes.Block:
        if isinstance(statement, nodes.Jump):
            return () if statement.kind in kinds else (statement,)
        if isinstance(statement, nodes.If):
            then, otherwise = (_without_jumps(b, kinds) for b in (statement.then, statement.otherwise))
            return (replace(statement, then=then, otherwise=otherwise),)
        if isinstance(statement, nodes.Loop):
            outer = tuple(kind for kind in kinds if kind == "return")
            body, rest = (_without_jumps(b, outer) for b in (statement.body, statement.rest))
            return (replace(statement, body=body, rest=rest),)
        if isinstance(statement, nodes.Switch):
            outer = tuple(kind for kind in kinds if kind != "break")
            cases = (replace(case, body=_without_jumps(case.body, outer)) for case in statement.cases)
            return (replace(statement, cases=tuple(cases)),)
        return (statement,)

    return tuple(new for old in block for new in without(old))


# Simpler expressions


def _simpler_expressions(statement: nodes.Statement) -> Iterator[nodes.Block]:
    """Yield a statement with one of its expressions simplified."""
    # Programs that record observations have loops without limit and switches without modulus.
    from_memory = isinstance(statement, nodes.Loop | nodes.Switch) and _of_observations(statement)
    for field in fields(statement):
        held = getattr(statement, field.name)
        if isinstance(statement, nodes.Operate) and field.name == "call":
            for new in _simpler_values(held):
                if isinstance(new, nodes.Communicate) and type_of(new) == type_of(held):
                    yield (replace(statement, call=new),)
        elif field.name == "exit_condition":
            continue  # an invocation must leave in each trip
        elif isinstance(held, nodes.Condition):
            yield from (_with(statement, field.name, new) for new in simpler_conditions(held))
        elif isinstance(held, nodes.Number) and from_memory:
            if not _is_constant(held):
                yield from (_with(statement, field.name, nodes.Fixed(value)) for value in range(3))
        elif isinstance(held, nodes.Expression):
            yield from (_with(statement, field.name, new) for new in _simpler_values(held))
        elif isinstance(statement, nodes.FunctionCall) and field.name == "arguments":
            for new in _simpler_arguments(held):
                yield (replace(statement, arguments=new),)


def _with(statement: nodes.Statement, field: str, value: nodes.Expression) -> nodes.Block:
    changed: nodes.Statement = replace(statement, **{field: value})  # type: ignore[arg-type]
    return (changed,)


def _of_observations(statement: nodes.Loop | nodes.Switch) -> bool:
    return (statement.limit if isinstance(statement, nodes.Loop) else statement.modulus) is None


def simpler_conditions(condition: nodes.Condition) -> Iterator[nodes.Condition]:
    """Yield simpler conditions that the simulator can evaluate."""
    if isinstance(condition, nodes.UniformValue):
        return
    yield from (nodes.UniformValue(True), nodes.UniformValue(False))
    if isinstance(condition, nodes.Not | nodes.Vote):
        yield condition.condition
        for inner in simpler_conditions(condition.condition):
            yield replace(condition, condition=inner)


def _is_constant(decision: nodes.Expression) -> bool:
    """Whether a condition or number is a constant read from memory, which has no simpler form."""
    return isinstance(decision, nodes.UniformValue | nodes.Fixed)


def _simpler_values(e: Any) -> Iterator[Any]:
    """Yield simpler expressions of the same type, one change each."""
    kind = type_of(e)
    for part in walk(e):
        if part is not e and isinstance(part, nodes.Expression) and type_of(part) == kind:
            yield part
    if not isinstance(e, nodes.Literal):
        count = TYPES[kind].components
        yield nodes.Literal(kind, (0,) * count)
        yield nodes.Literal(kind, (1,) * count)
    for field in fields(e):
        held = getattr(e, field.name)
        if isinstance(held, nodes.Expression):
            yield from (replace(e, **{field.name: new}) for new in _simpler_values(held))
        elif field.name == "arguments":
            yield from (replace(e, arguments=new) for new in _simpler_arguments(held))


def _simpler_arguments(arguments: tuple[nodes.Expression, ...]) -> Iterator[tuple[nodes.Expression, ...]]:
    for at, argument in enumerate(arguments):
        for new in _simpler_values(argument):
            yield (*arguments[:at], new, *arguments[at + 1 :])


# Search

Predicate = Callable[[RandomProgram], bool]


@dataclass(frozen=True)
class Shrunk:
    """Result of shrinking."""

    program: RandomProgram  # the smallest program that fails
    path: tuple[int, ...]  # number of the variant taken in each step, for `replay`
    done: bool  # whether no smaller variant fails; False if the time or the number of attempts was exhausted


def shrink(
    program: RandomProgram,
    fails: Predicate,
    allowed: Predicate,
    *,
    seconds: float,
    attempts: int | None = None,
) -> Shrunk:
    """Return a smaller program that fails as well, or the program itself.

    `fails` is called once for each smaller program that is `allowed` (`vkgroup.programs.rules`).
    """
    deadline = time.monotonic() + seconds
    path: tuple[int, ...] = ()
    asked: set[RandomProgram] = {program}
    while True:
        for number, candidate in _smaller(program):
            if candidate in asked or not allowed(candidate):
                continue
            if time.monotonic() > deadline or len(asked) - 1 == attempts:
                return Shrunk(program, path, False)
            asked.add(candidate)
            if fails(candidate):
                program, path = candidate, (*path, number)
                break
        else:
            return Shrunk(program, path, True)


def _smaller(program: RandomProgram) -> Iterator[tuple[int, RandomProgram]]:
    """Yield the smaller variants and their numbers, structural ones first, then by size."""
    limit, first = weight(program), 0
    for group in (structural, expressional):
        variants = [(weight(variant), first + at, variant) for at, variant in enumerate(group(program))]
        first += len(variants)
        for size, number, variant in sorted(variants, key=lambda entry: entry[:2]):
            if size < limit:
                yield number, variant


def replay(program: RandomProgram, path: Sequence[int], allowed: Predicate) -> RandomProgram:
    """Return the result of shrinking a program by the steps of `Shrunk.path`.

    Raise ValueError if the path belongs to another program, or to another version of vkgroup.
    """
    for number in path:
        variants = chain(structural(program), expressional(program))
        variant = next(islice(variants, number, None), None) if number >= 0 else None
        if variant is None or weight(variant) >= weight(program) or not allowed(variant):
            raise ValueError("no such variant: the path belongs to another program or version of vkgroup")
        program = variant
    return program


def digest(program: RandomProgram) -> str:
    """Return a text that identifies a program, the same in every process."""
    return sha256(repr(program).encode()).hexdigest()[:16]
