"""Wrong programs: a reconvergence program with one change that a faulty compiler could make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from vkgroup.programs.nodes import (
    Block,
    Condition,
    Elect,
    Fixed,
    If,
    Jump,
    Loop,
    Not,
    Observe,
    OfLane,
    RandomProgram,
    Switch,
    SwitchCase,
    UniformValue,
)

Change = Callable[[Block, int], Block | None]
"""Returns a block with the statement of this index changed; None if the change does not apply."""

_BLOCKS = ("then", "otherwise", "body", "rest", "before_exit")


def inverted(block: Block, at: int) -> Block | None:
    """Negate a condition."""
    old = block[at]
    if not isinstance(old, If) or not isinstance(old.condition, Condition):
        return None
    return (*block[:at], replace(old, condition=Not(old.condition)), *block[at + 1 :])


def longer(block: Block, at: int) -> Block | None:
    """Add a trip to a loop."""
    old = block[at]
    if not isinstance(old, Loop) or not isinstance(old.trips, Fixed | OfLane):
        return None
    trips = old.trips
    more = Fixed(trips.value + 1) if isinstance(trips, Fixed) else replace(trips, base=trips.base + 1)
    return (*block[:at], replace(old, trips=more), *block[at + 1 :])


def stayed(block: Block, at: int) -> Block | None:
    """Remove a break, continue or return."""
    return (*block[:at], *block[at + 1 :]) if isinstance(block[at], Jump) else None


def hoisted(block: Block, at: int) -> Block | None:
    """Move an observation from the start of a branch to before it."""
    old = block[at]
    if not isinstance(old, If) or not old.then or not isinstance(old.then[0], Observe):
        return None
    return (*block[:at], old.then[0], replace(old, then=old.then[1:]), *block[at + 1 :])


def sunk(block: Block, at: int) -> Block | None:
    """Move an observation from the end of a branch to after it."""
    old = block[at]
    if not isinstance(old, If) or not old.then or not isinstance(old.then[-1], Observe):
        return None
    return (*block[:at], replace(old, then=old.then[:-1]), old.then[-1], *block[at + 1 :])


def swapped(block: Block, at: int) -> Block | None:
    """Exchange the labels of two cases."""
    old = block[at]
    if not isinstance(old, Switch) or any(case.default for case in old.cases[:2]):
        return None
    first, second, *others = old.cases
    labels = replace(first, labels=second.labels), replace(second, labels=first.labels)
    return (*block[:at], replace(old, cases=(*labels, *others)), *block[at + 1 :])


def unelected(block: Block, at: int) -> Block | None:
    """Elect all invocations."""
    old = block[at]
    if not isinstance(old, If) or not isinstance(old.condition, Elect):
        return None
    return (*block[:at], replace(old, condition=UniformValue(value=True)), *block[at + 1 :])


def never_together(block: Block, at: int) -> Block | None:
    """Move the statements after a branch into both of its sides, so that invocations do not reconverge."""
    old, rest = block[at], block[at + 1 :]
    if not isinstance(old, If) or not rest:
        return None
    return (*block[:at], replace(old, then=old.then + rest, otherwise=old.otherwise + rest))


CHANGES: tuple[Change, ...] = (
    inverted, longer, stayed, hoisted, sunk, swapped, unelected, never_together,
)  # fmt: skip
"""All changes."""


def _mutants_of(block: Block, change: Change) -> Iterator[Block]:
    for at, statement in enumerate(block):
        changed = change(block, at)
        if changed is not None:
            yield changed
        for field in fields(statement):
            value = getattr(statement, field.name)
            inner: Iterator[object] = iter(())
            if field.name in _BLOCKS and isinstance(value, tuple):
                inner = _mutants_of(value, change)
            elif field.name == "cases":
                inner = _cases(value, change)
            for new in inner:
                parts: dict[str, Any] = {field.name: new}
                yield (*block[:at], replace(statement, **parts), *block[at + 1 :])


def _cases(cases: tuple[SwitchCase, ...], change: Change) -> Iterator[tuple[SwitchCase, ...]]:
    for at, case in enumerate(cases):
        for body in _mutants_of(case.body, change):
            yield (*cases[:at], replace(case, body=body), *cases[at + 1 :])


def mutants(program: RandomProgram, change: Change) -> Iterator[RandomProgram]:
    """Yield the program with one place changed, for every place where the change applies."""
    for body in _mutants_of(program.body, change):
        yield replace(program, body=body)
    for number, function in enumerate(program.functions):
        for body in _mutants_of(function.body, change):
            mutant = replace(function, body=body)
            changed = (*program.functions[:number], mutant, *program.functions[number + 1 :])
            yield replace(program, functions=changed)
