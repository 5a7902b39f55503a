"""Errors planted between a program and a driver: what a broken compiler would make of it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from vkgroup.random_programs.nodes import Block, If, Loop, Program, Statement, Switch
from vkgroup.random_programs.subjects import Driver, Observation
from vkgroup.random_programs.trial import compiled
from vkgroup.runner.messages import Failure
from vkgroup.spirv import Module, grammar

_GROUP_OPERATION = 4


def _rewritten(data: bytes, change: Callable[[list[int]], list[int]]) -> bytes:
    """Return a module with every instruction changed; each is its opcode and operand words."""
    words = struct.unpack(f"<{len(data) // 4}I", data)
    result, at = list(words[:5]), 5
    while at < len(words):
        count = words[at] >> 16
        opcode, *operands = change([words[at] & 0xFFFF, *words[at + 1 : at + count]])
        result += [(len(operands) + 1) << 16 | opcode, *operands]
        at += count
    return struct.pack(f"<{len(result)}I", *result)


def another_opcode(old: str, new: str) -> Callable[[bytes], bytes]:
    """Return a change that takes one instruction for another with the same operands."""
    first, second = grammar().opcodes[old], grammar().opcodes[new]
    return lambda data: _rewritten(data, lambda i: [second, *i[1:]] if i[0] == first else i)


def another_scan(data: bytes) -> bytes:
    """Take inclusive scans for exclusive ones."""
    scans = ("Add", "Mul", "Max", "Min", "And", "Or", "Xor")
    opcodes = {
        code
        for name, code in grammar().opcodes.items()
        if name.startswith("OpGroupNonUniform") and name.endswith(scans)
    }

    def exclusive(i: list[int]) -> list[int]:
        if i[0] in opcodes and i[_GROUP_OPERATION] == 1:
            return [*i[:_GROUP_OPERATION], 2, *i[_GROUP_OPERATION + 1 :]]
        return i

    return _rewritten(data, exclusive)


def tail_duplicated(block: Block) -> Block:
    """Put what follows a selection into both of its branches: they never come together again."""
    for at, statement in enumerate(block):
        rest = block[at + 1 :]
        if isinstance(statement, If) and rest:
            ways = (*statement.then, *rest), (*statement.otherwise, *rest)
            then, otherwise = (tail_duplicated(way) for way in ways)
            return (*block[:at], replace(statement, then=then, otherwise=otherwise))
        inner = _inside(statement)
        if inner != statement:
            return (*block[:at], inner, *tail_duplicated(rest))
    return block


def _inside(statement: Statement) -> Statement:
    if isinstance(statement, Loop):
        return replace(statement, body=tail_duplicated(statement.body))
    if isinstance(statement, Switch):
        cases = tuple(replace(case, body=tail_duplicated(case.body)) for case in statement.cases)
        return replace(statement, cases=cases)
    return statement


class TailDuplicating(Driver):
    """A driver whose compiler duplicates what follows the first selection of each block."""

    def observe(self, program: Program, module: Module) -> Observation | Failure:
        """Run what the compiler makes of the program."""
        return super().observe(program, compiled(replace(program, body=tail_duplicated(program.body))))
