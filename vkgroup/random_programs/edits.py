"""Changes to programs, each of which gives a smaller one: what the shrinker tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from vkgroup.conformance.reconvergence.nodes import walk
from vkgroup.random_programs.nodes import (
    Apply,
    Block,
    Call,
    Case,
    Communicate,
    Compare,
    Expression,
    Function,
    If,
    Leave,
    Literal,
    Loop,
    Operate,
    Program,
    Read,
    Set,
    Statement,
    Switch,
    called_functions,
    size,
    type_of,
)
from vkgroup.random_programs.rules import ANY_ACTIVE
from vkgroup.spec.types import TYPES

Change = Callable[[int, Statement], Block | None]
"""Number of a statement and the statement → what takes its place; None leaves it, and looks inside."""


class _Editor:
    """Applies a change to every statement, numbered in the order of the text."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.next = 0

    def block(self, block: Block) -> Block:
        return tuple(new for old in block for new in self.statement(old))

    def statement(self, s: Statement) -> Block:
        number = self.next
        new = self.change(number, s)
        if new is not None:
            self.next = number + size(s)
            return new
        self.next += 1
        if isinstance(s, If):
            return (replace(s, then=self.block(s.then), otherwise=self.block(s.otherwise)),)
        if isinstance(s, Loop):
            return (replace(s, body=self.block(s.body)),)
        if isinstance(s, Switch):
            return (replace(s, cases=tuple(replace(case, body=self.block(case.body)) for case in s.cases)),)
        return (s,)


def edited(program: Program, change: Change) -> Program:
    """Return a program with a change made, without the functions that nobody calls any more."""
    editor = _Editor(change)
    functions = tuple(replace(f, body=editor.block(f.body)) for f in program.functions)
    return pruned(replace(program, functions=functions, body=editor.block(program.body)))


def pruned(program: Program) -> Program:
    """Return a program without the functions that nobody calls."""
    return replace(program, functions=called_functions(program))


def statements(program: Program) -> list[Statement]:
    """Return every statement, in the order of their numbers."""
    return [node for node in walk((program.functions, program.body)) if isinstance(node, Statement)]


def without(program: Program, first: int, count: int) -> Program:
    """Return a program without some statements, by number."""
    return edited(program, lambda number, s: () if first <= number < first + count else None)


def replaced(program: Program, at: int, block: Block) -> Program:
    """Return a program with another block in place of one statement."""
    return edited(program, lambda number, s: block if number == at else None)


def _stripped(block: Block, kinds: tuple[str, ...]) -> Block:
    """Return a block without the leaves that belong to the construct around it."""

    def one(s: Statement) -> Block:
        if isinstance(s, Leave):
            return () if s.kind in kinds else (s,)
        if isinstance(s, If):
            return (replace(s, then=_stripped(s.then, kinds), otherwise=_stripped(s.otherwise, kinds)),)
        inner = tuple(kind for kind in kinds if kind == "continue")
        if isinstance(s, Switch) and inner:
            return (replace(s, cases=tuple(replace(c, body=_stripped(c.body, inner)) for c in s.cases)),)
        return (s,)

    return tuple(new for old in block for new in one(old))


def _without_returns(block: Block) -> Block:
    editor = _Editor(lambda number, s: () if isinstance(s, Leave) and s.kind == "return" else None)
    return editor.block(block)


def alternatives(s: Statement, functions: dict[int, Function]) -> Iterator[Block]:
    """Yield simpler blocks that could take a statement's place, the simplest first."""
    if isinstance(s, If):
        yield s.then
        yield s.otherwise
        if s.otherwise:
            yield (replace(s, otherwise=()),)
    elif isinstance(s, Loop):
        yield from _simpler_loops(s)
    elif isinstance(s, Switch):
        yield from _simpler_switches(s)
    elif isinstance(s, Operate):
        if s.call != ANY_ACTIVE:
            yield (Operate(s.step, ANY_ACTIVE),)
        if s.target is not None:
            yield (replace(s, target=None),)
    elif isinstance(s, Leave) and s.condition is not None:
        yield (replace(s, condition=None),)
    elif isinstance(s, Call):
        function = functions[s.function]
        given = tuple(Set(p, a) for p, a in zip(function.parameters, s.arguments, strict=True))
        yield (*given, *_without_returns(function.body), Set(s.target, Read(function.result)))


def _simpler_loops(s: Loop) -> Iterator[Block]:
    yield _stripped(s.body, ("break", "continue"))
    if s.vote:
        yield (replace(s, vote=""),)
    if s.trips != Literal("uint", (s.limit,)):
        yield (replace(s, trips=Literal("uint", (s.limit,))),)
        if s.limit > 1:
            yield (replace(s, limit=s.limit - 1),)
    elif s.limit > 1:
        yield (replace(s, limit=s.limit - 1, trips=Literal("uint", (s.limit - 1,))),)
    if s.form != "for":
        yield (replace(s, form="for"),)


def _simpler_switches(s: Switch) -> Iterator[Block]:
    for case in s.cases:
        yield _stripped(case.body, ("break",))
    for index, case in enumerate(s.cases):
        others = s.cases[:index] + s.cases[index + 1 :]
        if others:
            yield (replace(s, cases=(*others[:-1], replace(others[-1], falls=False))),)
        if case.labels:
            selected = Apply("%", "uint", (s.selector, Literal("uint", (s.modulus,))))
            condition = Compare("==", selected, Literal("uint", (case.labels[0],)))
            yield (If(condition, _stripped(case.body, ("break",))),)
        if case.falls:
            sharp: tuple[Case, ...] = (*s.cases[:index], replace(case, falls=False), *s.cases[index + 1 :])
            yield (replace(s, cases=sharp),)


# Expressions


def _variants(e: Any) -> Iterator[Any]:
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
            yield from (replace(e, **{field.name: new}) for new in _variants(held))
        elif field.name == "arguments":
            for index, argument in enumerate(held):
                for new in _variants(argument):
                    yield replace(e, arguments=(*held[:index], new, *held[index + 1 :]))


def simpler_expressions(s: Statement) -> Iterator[Statement]:
    """Yield a statement with one of its own expressions made simpler."""
    for field in fields(s):
        held = getattr(s, field.name)
        if isinstance(s, Operate) and field.name == "call":
            for new in _variants(held):
                if isinstance(new, Communicate) and type_of(new) == type_of(held):
                    yield replace(s, call=new)
        elif isinstance(held, Expression):
            yield from (replace(s, **{field.name: new}) for new in _variants(held))
        elif isinstance(s, Call) and field.name == "arguments":
            for index, argument in enumerate(held):
                for new in _variants(argument):
                    yield replace(s, arguments=(*held[:index], new, *held[index + 1 :]))


def weight(program: Program) -> tuple[int, ...]:
    """Return how large a program is, to be compared: what is smaller is better."""
    nodes = list(walk((program.functions, program.body)))
    odd = sum(isinstance(n, Loop) and (n.form != "for") + 2 * bool(n.vote) + n.limit for n in nodes)
    odd += sum(isinstance(n, Case) and n.falls for n in nodes)
    numbers = sum(sum(n.components) for n in nodes if isinstance(n, Literal))
    # Inlining a function is worth the assignments that it costs.
    return (
        sum(isinstance(n, Statement) for n in nodes) + 6 * len(program.functions),
        len(nodes),
        odd,
        numbers,
        program.invocations,
    )
