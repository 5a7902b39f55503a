"""Errors planted between a program and a driver, like those of a faulty compiler."""

from __future__ import annotations

from dataclasses import replace

from campaigns.random_programs.run import compiled
from campaigns.random_programs.targets import Driver, Observation
from mutants.rewriting import Words, rewritten

from vkgroup.programs.nodes import Block, If, Loop, RandomProgram, Statement, Switch
from vkgroup.spirv import Module, grammar
from vkgroup.workers.messages import Failure

_GROUP_OPERATION = 4


def another_scan(data: bytes) -> bytes:
    """Replace inclusive scans by exclusive ones."""
    scans = ("Add", "Mul", "Max", "Min", "And", "Or", "Xor")
    opcodes = {
        code
        for name, code in grammar().opcodes.items()
        if name.startswith("OpGroupNonUniform") and name.endswith(scans)
    }

    def exclusive(i: Words) -> list[Words]:
        if i[0] in opcodes and i[_GROUP_OPERATION] == 1:
            return [[*i[:_GROUP_OPERATION], 2, *i[_GROUP_OPERATION + 1 :]]]
        return [i]

    return rewritten(data, exclusive)


def tail_duplicated(block: Block) -> Block:
    """Move the statements after a selection into both branches, so that they never reconverge."""
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
        return replace(statement, body=tail_duplicated(statement.body), rest=tail_duplicated(statement.rest))
    if isinstance(statement, Switch):
        cases = tuple(replace(case, body=tail_duplicated(case.body)) for case in statement.cases)
        return replace(statement, cases=cases)
    return statement


class TailDuplicating(Driver):
    """A driver whose compiler duplicates the statements after the first selection of each block."""

    def observe(self, program: RandomProgram, module: Module) -> Observation | Failure:
        """Run the program that the compiler produces."""
        return super().observe(program, compiled(replace(program, body=tail_duplicated(program.body))))
