"""Transforms that the worker process of a case imports by name."""

from __future__ import annotations

import os
import signal

from mutants.rewriting import boolean_constant, instructions, rewritten


def killed(data: bytes) -> bytes:
    """End the process as a driver's crash does."""
    os.kill(os.getpid(), signal.SIGKILL)
    return data


_SWITCH, _LOOP, _BALLOT = 251, 246, 339


def _has(data: bytes, opcode: int) -> bool:
    return any(instruction[0] == opcode for instruction in instructions(data))


def killed_by_a_switch(data: bytes) -> bytes:
    """End the process as a compiler does that dies of switches in modules with a loop."""
    return killed(data) if _has(data, _SWITCH) and _has(data, _LOOP) else data


def wrong_switch(data: bytes) -> bytes:
    """Take the default of a switch for its first case, and the other way round, in modules with a loop."""
    if not _has(data, _LOOP):
        return data

    def swapped(words: list[int]) -> list[list[int]]:
        if words[0] != _SWITCH or len(words) < 5:
            return [words]
        opcode, selector, default, literal, target, *others = words
        return [[opcode, selector, target, literal, default, *others]]

    return rewritten(data, swapped)


def ballot_of_nobody(data: bytes) -> bytes:
    """Replace the predicates of ballots by false."""
    data, false = boolean_constant(data, value=False)
    return rewritten(data, lambda words: [[*words[:4], false]] if words[0] == _BALLOT else [words])
