"""Running a program of cases: one dispatch, one draw or one trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import barriers
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.poison import poisoned
from vkgroup.conformance.program import SLOT_PLANES, Program
from vkgroup.conformance.shapes import WORKGROUPS
from vkgroup.conformance.stages import RAY_STAGES, TICKETS, FramebufferStage, TicketStage
from vkgroup.conformance.tracing import trace
from vkgroup.spirv import Module

Words = NDArray[np.uint32]


def execute(executor: Executor, program: Program, module: Module, subgroup_size: int = 0) -> Words:
    """Run a program and return its outputs.

    Parameters
    ----------
    module : what its source became.
    subgroup_size : the size that the pipeline requires, or 0 for the device's own.

    Returns
    -------
    (program.output_words,) uint32; what was not written is `POISON`.
    """
    inputs = executor.buffer("inputs", program.inputs.nbytes, host=True)
    inputs.write(program.inputs)
    bindings: dict[Any, Any] = {0: inputs}
    for binding, memory in program.memories.items():
        cells = np.zeros(memory.words, np.uint32)
        bindings[binding] = cells.reshape(-1, barriers.ROW) if memory.kind == "image" else cells
    if isinstance(program.stage, TicketStage):
        bindings[TICKETS] = executor.buffer("tickets", 4, host=True)
        bindings[TICKETS].write(np.zeros(1, np.uint32))
    if isinstance(program.stage, FramebufferStage):
        return _drawn(executor, program, program.stage, module, bindings, subgroup_size)
    outputs = executor.buffer("outputs", program.output_words * 4, host=True)
    outputs.write(_blank(program))
    bindings[1] = outputs
    if program.stage.name == "compute":
        with (
            executor.device.pipeline(
                module, specialization=program.specialization, subgroup_size=subgroup_size or None
            ) as pipeline,
            pipeline.bind(bindings) as bound,
        ):
            bound.dispatch((WORKGROUPS, 1, 1), timeout=executor.timeout)
    elif program.stage.name in RAY_STAGES:
        around = program.stage.around(program.planes)
        trace(
            executor,
            around,
            program.stage.name,
            module,
            bindings,
            specialization=program.specialization,
            subgroup_size=subgroup_size or None,
        )
    else:
        _draw(executor, program, module, bindings, subgroup_size)
    return outputs.read(np.uint32, program.output_words)


def _blank(program: Program) -> Words:
    """Return the outputs before the dispatch: poison, and no slot executed."""
    n = program.invocations
    words = poisoned(program.output_words)
    first = program.slots_at
    words[first : first + SLOT_PLANES * program.pattern.slots * n] = 0
    return words


def _draw(
    executor: Executor, program: Program, module: Module, bindings: Mapping[Any, Any], subgroup_size: int
) -> Mapping[Any, Any]:
    """Draw with a module in the place of its stage, and return what came of it."""
    around = program.stage.around(program.planes)
    stages: dict[str, Any] = executor.stages(around, program.stage.name, module)
    control = stages.pop("tessellation_control", None)
    if control is not None:
        stages["tessellation"] = control, stages.pop("tessellation_evaluation")
    arguments = {"size": (1, 1), **around.arguments}
    return executor.device.draw(
        stages.pop("fragment"),
        arguments.pop("size"),
        bindings,
        **stages,
        **arguments,
        specialization=program.specialization,
        subgroup_size=subgroup_size or None,
        timeout=executor.timeout,
    )


def _drawn(
    executor: Executor,
    program: Program,
    stage: FramebufferStage,
    module: Module,
    bindings: Mapping[Any, Any],
    subgroup_size: int,
) -> Words:
    """Draw, and return what the attachments hold as a buffer would."""
    attachments = _draw(executor, program, module, bindings, subgroup_size)
    return stage.words(attachments, program.planes)
