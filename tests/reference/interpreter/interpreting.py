"""Helpers that run GLSL on the interpreter, for the tests in this folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.reference.interpreter import ExecutableShader, ExecutionOutcome, Memory, execute

HEADER = "#version 460\n"


def program(source: str, *, optimize: str | bool = False, **options: Any) -> ExecutableShader:
    specialization = options.pop("specialization", None)
    options.setdefault("target", TargetEnvironment.VULKAN_1_2)
    module = compile_source(HEADER + source, stage="compute", optimize=optimize, debug=True, **options)
    return ExecutableShader(module, specialization=specialization)


def interpret(
    source: str | ExecutableShader, groups: int | tuple[int, int, int], *arrays: np.ndarray, **options: Any
) -> ExecutionOutcome:
    """Run a shader whose bindings 0, 1, … are `arrays`, which it changes."""
    chosen = (
        source
        if isinstance(source, ExecutableShader)
        else program(source, optimize=options.pop("optimize", False))
    )
    memories = [
        array if isinstance(array, Memory) else Memory(array.reshape(-1).view(np.uint8), f"binding {number}")
        for number, array in enumerate(arrays)
    ]
    counts = groups if isinstance(groups, tuple) else (groups, 1, 1)
    return execute(
        chosen, counts, {(0, number): [memory] for number, memory in enumerate(memories)}, **options
    )


def kinds(outcome: ExecutionOutcome) -> list[str]:
    return [event.kind for event in outcome.events]


def line(source: str, position: int, chosen: ExecutableShader) -> int:
    """Return the line of `source` of the instruction at `position`."""
    result = 0
    for entry in chosen.module.instructions:
        if entry.name == "OpLine":
            result = entry.operands[1]
        if entry.position == position:
            break
    return result - HEADER.count("\n")
