"""Helpers that run GLSL on the interpreter, for the tests in this folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkgroup.compiler import Target, compile_source
from vkgroup.reference.interpreter import Memory, Outcome, Program, execute

HEADER = "#version 460\n"


def program(source: str, *, optimize: str | bool = False, **options: Any) -> Program:
    specialization = options.pop("specialization", None)
    options.setdefault("target", Target.VULKAN_1_2)
    module = compile_source(HEADER + source, stage="compute", optimize=optimize, debug=True, **options)
    return Program(module, specialization=specialization)


def interpret(
    source: str | Program, groups: int | tuple[int, int, int], *arrays: np.ndarray, **options: Any
) -> Outcome:
    """Run a shader whose bindings 0, 1, … are `arrays`, which it changes."""
    chosen = (
        source if isinstance(source, Program) else program(source, optimize=options.pop("optimize", False))
    )
    memories = [
        array if isinstance(array, Memory) else Memory(array.reshape(-1).view(np.uint8), f"binding {number}")
        for number, array in enumerate(arrays)
    ]
    counts = groups if isinstance(groups, tuple) else (groups, 1, 1)
    return execute(
        chosen, counts, {(0, number): [memory] for number, memory in enumerate(memories)}, **options
    )


def kinds(outcome: Outcome) -> list[str]:
    return [event.kind for event in outcome.events]


def line(source: str, position: int, chosen: Program) -> int:
    """Return the line of `source` of the instruction at `position`."""
    result = 0
    for entry in chosen.module.instructions:
        if entry.name == "OpLine":
            result = entry.operands[1]
        if entry.position == position:
            break
    return result - HEADER.count("\n")
