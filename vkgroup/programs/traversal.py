"""Traversal of a random program: the nodes under a node, the functions called, the number of statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from vkgroup.programs.nodes import Block, FunctionCall, ProgramFunction, RandomProgram, Statement


def children(node: Any) -> Iterator[Any]:
    """Yield the nodes of a node, or of a tuple."""
    values = node if isinstance(node, tuple) else [getattr(node, field.name) for field in fields(node)]
    for value in values:
        if isinstance(value, tuple):
            yield from children(value)
        elif hasattr(value, "__dataclass_fields__"):
            yield value


def walk(node: Any) -> Iterator[Any]:
    """Yield a node (or every node of a tuple) and everything in it, parents first."""
    if not isinstance(node, tuple):
        yield node
    for child in children(node):
        yield from walk(child)


def nodes_of(program: RandomProgram) -> Iterator[Any]:
    """Yield every node of a program's functions and of its body."""
    return walk((program.functions, program.body))


def called_functions(program: RandomProgram) -> tuple[ProgramFunction, ...]:
    """Return the functions that main calls, directly or through others, in the order of their declaration."""
    called = _calls(program.body)
    for function in reversed(program.functions):
        if function.number in called:
            called |= _calls(function.body)
    return tuple(function for function in program.functions if function.number in called)


def _calls(block: Block) -> set[int]:
    return {node.function for node in walk(block) if isinstance(node, FunctionCall)}


def count_statements(node: Any) -> int:
    """Return the number of statements in a program, a function, a block or a statement."""
    return sum(isinstance(part, Statement) for part in walk(node))
