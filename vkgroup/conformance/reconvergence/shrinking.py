"""Makes a failing program small: what need not be there is left out, piece by piece, the largest first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from itertools import islice
from typing import Any

from vkgroup.conformance.reconvergence.nodes import (
    Block,
    Call,
    Case,
    Condition,
    Fixed,
    If,
    Leave,
    Loop,
    Not,
    Number,
    Observe,
    Program,
    Statement,
    Switch,
    Uniform,
    Vote,
    walk,
)
from vkgroup.conformance.reconvergence.rules import well_formed

_LOCAL = (1, 2, 4, 8, 16, 32, 64, 128)
"""Invocations of a workgroup to try."""


@dataclass(frozen=True)
class Shrunk:
    """What came of shrinking.

    Attributes
    ----------
    program : the smallest that fails.
    path : how it came of the first one, for `replay`.
    done : whether nothing more can be left out; False where the time was over.
    """

    program: Program
    path: tuple[int, ...]
    done: bool


def statements(program: Program) -> int:
    """Return how many statements a program has."""
    return sum(isinstance(node, Statement) for node in walk((program.functions, program.body)))


def shrink(program: Program, fails: Callable[[Program], bool], *, seconds: float) -> Shrunk:
    """Return a smaller program that fails as well, or the program itself.

    Parameters
    ----------
    program : one that fails.
    fails : whether another one does; asked only about those that keep to the rules (`well_formed`).
    seconds : when to stop looking.
    """
    until = time.monotonic() + seconds
    weight = _weight(program)
    path: tuple[int, ...] = ()
    tried: set[Program] = set()
    while True:
        smaller = sorted((_weight(one), number, one) for number, one in enumerate(_variants(program)))
        for found, number, candidate in smaller:
            if found >= weight or candidate in tried or not well_formed(candidate):
                continue
            if time.monotonic() > until:
                return Shrunk(program, path, False)
            tried.add(candidate)
            if fails(candidate):
                program, weight, path = candidate, found, (*path, number)
                break
        else:
            return Shrunk(program, path, True)


def replay(program: Program, path: Sequence[int]) -> Program:
    """Return what shrinking made of a program.

    Parameters
    ----------
    path : of `Shrunk`: which variant was taken, step by step.

    Raises
    ------
    ValueError
        It leads nowhere: it is of another program, or of another version of vkgroup.
    """
    for number in path:
        found = next(islice(_variants(program), number, None), None) if number >= 0 else None
        if found is None or _weight(found) >= _weight(program) or not well_formed(found):
            raise ValueError("no such variant")
        program = found
    return program


def digest(program: Program) -> str:
    """Return what tells a program from others, the same in every process."""
    return sha256(repr(program).encode()).hexdigest()[:16]


def _weight(program: Program) -> tuple[int, int, int]:
    """Return what shrinks: nodes, then what is not the same for everybody, then invocations."""
    nodes = list(walk((program.functions, program.body)))
    varied = sum(isinstance(node, Condition | Number) and not _settled(node) for node in nodes)
    return len(nodes) + len(program.functions), varied, program.invocations


def _variants(program: Program) -> Iterator[Program]:
    """Yield programs with one thing less or simpler."""
    yield replace(program, groups=1)
    yield from (replace(program, local_size=(x, 1, 1)) for x in _LOCAL)
    functions = program.functions
    for block in _blocks(program.body, functions):
        yield _without_uncalled(replace(program, body=block))
    for number, function in enumerate(functions):
        for block in _blocks(function, functions):
            changed = (*functions[:number], block, *functions[number + 1 :])
            yield _without_uncalled(replace(program, functions=changed))


def _without_uncalled(program: Program) -> Program:
    """Leave out the functions behind the last that is called, and what is in the others that are not."""
    called, functions = _called(program.body), program.functions
    for number in reversed(range(len(functions))):  # each calls only those before it
        if number in called:
            called |= _called(functions[number])
    kept = functions[: max(called, default=-1) + 1]
    return replace(
        program, functions=tuple(body if number in called else () for number, body in enumerate(kept))
    )


def _called(block: Block) -> set[int]:
    return {node.function for node in walk(block) if isinstance(node, Call)}


def _blocks(block: Block, functions: tuple[Block, ...]) -> Iterator[Block]:
    """Yield variants of a block: a statement less, its parts in its place, or something in it less."""
    for at, statement in enumerate(block):
        before, after = block[:at], block[at + 1 :]
        yield before + after
        for parts in _parts(statement, functions):
            yield before + parts + after
        for changed in _inside(statement, functions):
            yield (*before, changed, *after)


def _parts(statement: Statement, functions: tuple[Block, ...]) -> Iterator[Block]:
    """Yield what may stand in a statement's place: what is in it, without what it does with it."""
    if isinstance(statement, If):
        yield from (statement.then, statement.otherwise, statement.then + statement.otherwise)
    elif isinstance(statement, Loop):
        yield statement.body + statement.rest
    elif isinstance(statement, Switch):
        for case in statement.cases:
            yield tuple(part for part in case.body if part != Leave("break"))
    elif isinstance(statement, Call):
        yield functions[statement.function]


def _inside(node: Any, functions: tuple[Block, ...]) -> Iterator[Any]:
    """Yield variants of a node in which one of its fields is simpler."""
    for field in fields(node):
        for value in _simpler(getattr(node, field.name), functions):
            yield replace(node, **{field.name: value})


def _simpler(value: Any, functions: tuple[Block, ...]) -> Iterator[Any]:
    if isinstance(value, tuple) and value and isinstance(value[0], Case):
        for at, case in enumerate(value):
            yield from ((*value[:at], *value[at + 1 :]),) if len(value) > 1 else ()
            for changed in _inside(case, functions):
                yield (*value[:at], changed, *value[at + 1 :])
    elif isinstance(value, tuple) and all(isinstance(part, Statement) for part in value):
        yield from _blocks(value, functions)
    elif isinstance(value, Condition) and not _settled(value):
        yield from _conditions(value)
    elif isinstance(value, Number) and not _settled(value):
        yield from (Fixed(number) for number in range(3))
    elif isinstance(value, Observe):  # where a loop continues
        yield None


def _settled(decision: Condition | Number) -> bool:
    """Return whether it is the same for everybody, as memory says: nothing is simpler."""
    return isinstance(decision, Uniform | Fixed)


def _conditions(condition: Condition) -> Iterator[Condition]:
    yield from (Uniform(True), Uniform(False))
    if isinstance(condition, Not | Vote):
        yield condition.condition
        yield from (replace(condition, condition=one) for one in _conditions(condition.condition))
