"""Running a program of cases: one dispatch or one draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import barriers
from vkgroup.conformance.poison import poisoned
from vkgroup.conformance.program import SLOT_PLANES, Program
from vkgroup.conformance.shapes import WORKGROUPS
from vkgroup.conformance.stages import FragmentStage
from vkgroup.spirv import Module

if TYPE_CHECKING:
    from vkgroup.conformance.execute import Executor


def execute(
    executor: Executor, program: Program, module: Module, subgroup_size: int = 0
) -> NDArray[np.uint32]:
    """Run a program and return its outputs.

    Parameters
    ----------
    module : what its source became.
    subgroup_size : the size that the pipeline requires, or 0 for the device's own.

    Returns
    -------
    (program.output_words,) uint32; what was not written is `POISON`.
    """
    inputs = executor.buffer("inputs", program.inputs.nbytes)
    inputs.write(program.inputs)
    outputs = executor.buffer("outputs", program.output_words * 4)
    outputs.write(_blank(program))
    bindings: dict[Any, Any] = {0: inputs, 1: outputs}
    for binding, memory in program.memories.items():
        cells = np.zeros(barriers.words(program.stage, program.subgroup_size), np.uint32)
        bindings[binding] = cells.reshape(-1, barriers.ROW) if memory == "image" else cells
    if isinstance(program.stage, FragmentStage):
        size = program.stage.width, program.stage.height
        executor.device.draw(
            module, size, bindings, subgroup_size=subgroup_size or None, timeout=executor.timeout
        )
    else:
        with (
            executor.device.pipeline(module, subgroup_size=subgroup_size or None) as pipeline,
            pipeline.bind(bindings) as bound,
        ):
            bound.dispatch((WORKGROUPS, 1, 1), timeout=executor.timeout)
    return outputs.read(np.uint32, program.output_words)


def _blank(program: Program) -> NDArray[np.uint32]:
    """Return the outputs before the dispatch: poison, and no slot executed."""
    n = program.invocations
    words = poisoned(program.output_words)
    first = program.slots_at
    words[first : first + SLOT_PLANES * program.pattern.slots * n] = 0
    return words
