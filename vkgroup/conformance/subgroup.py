"""The family of the subgroup operations: every built-in of KHR_shader_subgroup, by type, pattern and data.

Cases of one stage, pattern, shape and subgroup size make one program, and one dispatch or draw.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import barriers, support
from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.cases import Case, subgroup_cases
from vkgroup.conformance.instances import read
from vkgroup.conformance.program import POISON, SLOT_PLANES, Program, build
from vkgroup.conformance.shapes import WORKGROUPS
from vkgroup.conformance.stages import FragmentStage
from vkgroup.conformance.verdict import Verdict, judge
from vkgroup.device import Capabilities
from vkgroup.spirv import Module

if TYPE_CHECKING:
    from vkgroup.conformance.execute import Executor

BATCH = 32
"""Cases a batch: compiling many operations in one shader costs far less than one shader each."""

LLVM_BATCH = 16
"""Cases a batch on lavapipe, whose compiler's time grows faster than the shader: 27 ms a case in batches
of 32, 20 ms in batches of 16 or 8, 25 ms in batches of 4 (lavapipe 25.0, processor time, cold)."""

BARRIER_BATCH = 4
"""Barrier cases a batch: each has cells and flags in shared memory, of which 16 KiB are promised."""


class SubgroupFamily:
    """The built-in functions and variables of KHR_shader_subgroup."""

    name = "subgroup"

    def cases(self) -> Iterable[Case]:
        """Return every case, by category."""
        return subgroup_cases()

    def missing(self, case: Case, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare; see `vkgroup.conformance.support`."""
        return support.missing(case, capabilities)

    def batch_key(self, case: Case) -> Hashable:
        """Return what makes the control flow, the pipeline and the module's execution modes.

        Stage, pattern, shape and subgroup size make the control flow and the pipeline; barrier cases stand
        apart for their memory; special data on floats needs an execution mode of its width for the whole
        module.
        """
        barrier = case.operation in BARRIERS
        return case.stage, case.pattern, case.shape, case.subgroup_size, barrier, case.preserved_width

    def batch_size(self, case: Case, capabilities: Capabilities) -> int:
        """Return how many cases one shader has."""
        if case.operation in BARRIERS:
            return BARRIER_BATCH
        return LLVM_BATCH if capabilities.driver_name == "llvmpipe" else BATCH

    def judge(self, executor: Executor, cases: list[Case]) -> list[Verdict]:
        """Judge a batch: program, module, dispatch, who was active together, verdicts."""
        capabilities = executor.capabilities
        ballot = support.has_ballot(capabilities)
        program = build(
            cases,
            size=support.subgroup_size(cases[0], capabilities),
            seed=executor.seed,
            ballot=ballot,
            denormals=support.preserved_denormals(capabilities),
        )
        module = executor.compile(program.source, stage=program.stage.name)
        outputs = _execute(executor, program, module, cases[0].subgroup_size)
        instances = read(program, outputs, ballot)
        return [judge(entry, program, instances, outputs) for entry in program.entries]


def _execute(executor: Executor, program: Program, module: Module, subgroup_size: int) -> NDArray[np.uint32]:
    """Run a program and return its outputs."""
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
    words = np.full(program.output_words, POISON, np.uint32)
    first = program.slots_at
    words[first : first + SLOT_PLANES * program.pattern.slots * n] = 0
    return words
