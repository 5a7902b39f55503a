"""The family of the subgroup operations: every built-in of KHR_shader_subgroup, by type, pattern and data.

Cases of one stage, pattern, shape and subgroup size make one program, and one dispatch or draw.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Words, poisoned
from vkgroup.conformance.barriers import BARRIERS, ROW, SEEN_TO_HANG
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor, run_around
from vkgroup.conformance.family import Family
from vkgroup.conformance.instances import SLOT_PLANES, Instances, read
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.stages.base import GROUP_CELLS, BatchStage
from vkgroup.conformance.stages.interfaces import TICKETS, TicketStage
from vkgroup.conformance.stages.pixels import FRAMEBUFFER, FramebufferStage, stage_of
from vkgroup.conformance.subgroup.cases import Case, subgroup_cases
from vkgroup.conformance.subgroup.expectation import verdict_on
from vkgroup.conformance.subgroup.operands import choices
from vkgroup.conformance.subgroup.shader import KHR, BatchProgram, Spelling, build, result_type
from vkgroup.conformance.support import (
    DRAWN,
    STAGE_FEATURES,
    STORES,
    has_ballot,
    lacking_quads,
    lacking_stages,
    preserved_denormals,
)
from vkgroup.device import Capabilities
from vkgroup.programs.glsl_types import is_long, planes
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.operations import SUBGROUP_OPERATIONS, OperandKind
from vkgroup.spec.stages import WORKGROUP_STAGES
from vkgroup.spirv import Module

BATCH = 32
"""Cases in a batch: compiling many operations in one shader costs far less than one shader each."""

SMALL_BATCH = 16
"""Cases in a batch on lavapipe, and on GPUs in stages other than fragment: with more, their compilers need
longer for each case."""

BARRIER_BATCH = 4
"""Barrier cases in a batch of one slot: each has cells in shared memory, of which 16 KiB are required."""

LEAST_ATTACHMENTS = 4
"""Color attachments that every device has (Vulkan 1.4, Required Limits, maxColorAttachments)."""

MOST_WORDS = 32
"""Maximum number of words of a framebuffer case: every device passes 64 components between stages."""

HEADER = 8
"""Words of the record in the framebuffer: lane, subgroup, size, whether executed, and the mask."""


def subgroup_size(case: Case, capabilities: Capabilities) -> int:
    """Return the subgroup size at which a case runs on a device."""
    return case.subgroup_size or capabilities.subgroup.size


def missing(case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks, by Vulkan's names; empty if none."""
    parts = [_of_subgroups, _of_stage, _of_operand, *([_of_size] if case.subgroup_size else [])]
    return [need for part in parts for need in part(case, capabilities)]


def _lacking(features: Iterable[str], capabilities: Capabilities) -> list[str]:
    return [name for name in features if name not in capabilities.features]


def _of_subgroups(case: Case, capabilities: Capabilities) -> Iterator[str]:
    """Yield the lacking stage, and the category's bit and features, if it is not in Vulkan 1.1."""
    category = Category(case.category)
    yield from lacking_stages((case.stage,), capabilities)
    if category.declared not in capabilities.subgroup.supported_operations:
        yield category.feature
    yield from _lacking(category.features, capabilities)
    nv = "VK_NV_shader_subgroup_partitioned"
    if category is Category.PARTITIONED and nv not in capabilities.extensions:
        yield from (f"{nv} or {name}" for name in _lacking(["shaderSubgroupPartitioned"], capabilities))
    least = patterns_of(case.stage)[case.pattern].least_size
    if subgroup_size(case, capabilities) < least:
        yield f"a subgroup size of at least {least} (smaller ones execute nothing)"


def _of_stage(case: Case, capabilities: Capabilities) -> Iterator[str]:
    """Yield the lacking requirements of stage, pattern and type apart from subgroup operations."""
    pattern, type_ = patterns_of(case.stage)[case.pattern], case.glsl_type
    without = STORES if case.shape == FRAMEBUFFER else ()
    needed = [name for name in STAGE_FEATURES.get(case.stage, ()) if name not in without]
    yield from _lacking(needed, capabilities)
    if case.stage in DRAWN and capabilities.subgroup.size < QUAD_SIZE:
        yield f"a subgroup size of at least {QUAD_SIZE} (the fragments of a draw are shaded in quads)"
    if case.category == "quad":
        yield from lacking_quads(case.stage, capabilities)
    yield from _lacking(pattern.leave.features, capabilities)
    observed = case.stage not in WORKGROUP_STAGES or not pattern.uniform or case.operation in BARRIERS
    if observed and not has_ballot(capabilities):
        yield "VK_SUBGROUP_FEATURE_BALLOT_BIT (to observe the active mask)"
    long = ["longVector"] if is_long(type_) else []
    yield from _lacking([*type_.scalar.subgroup_features, *long], capabilities)
    control = f"shaderSignedZeroInfNanPreserveFloat{case.preserved_width}"
    if case.preserved_width and not capabilities.float_controls.get(control, False):
        yield control


def _of_operand(case: Case, capabilities: Capabilities) -> Iterator[str]:
    size = subgroup_size(case, capabilities)
    operand = choices(case.operation).get(case.operand)
    if case.operation in BARRIERS:
        lanes = -(-_invocations(case) // size) * size
        if lanes > GROUP_CELLS and case.stage in WORKGROUP_STAGES:
            yield f"at most {GROUP_CELLS} lanes a workgroup"
    elif operand is not None and operand.cluster > size:
        yield f"a subgroup size of at least {operand.cluster} (it is {size}; larger clusters are undefined)"
    elif operand is not None:
        if (operand.leader or operand.labels) and not has_ballot(capabilities):
            yield "VK_SUBGROUP_FEATURE_BALLOT_BIT (to make the operand)"
        operands = SUBGROUP_OPERATIONS[case.operation].operands
        if operand.literal is None and any(row.kind is OperandKind.ID and row.constant for row in operands):
            yield from _lacking(["subgroupBroadcastDynamicId"], capabilities)


def _of_size(case: Case, capabilities: Capabilities) -> Iterator[str]:
    control, size, invocations = capabilities.size_control, case.subgroup_size, _invocations(case)
    if not control.supported:
        yield "subgroupSizeControl"
        return
    if case.stage not in control.required_size_stages:
        yield f"requiredSubgroupSizeStages with the {case.stage} stage"
    least, most = control.min_size, control.max_size
    if not least <= size <= most:
        yield f"a subgroup size of {size} (minSubgroupSize {least}, maxSubgroupSize {most})"
    if case.stage in WORKGROUP_STAGES and size * control.max_compute_workgroup_subgroups < invocations:
        yield f"maxComputeWorkgroupSubgroups of at least {-(-invocations // size)}"


def _invocations(case: Case) -> int:
    """Return the number of invocations in a workgroup of a case."""
    return stage_of(case.stage, case.shape, patterns_of(case.stage)[case.pattern].partial).group_places


def program_of(
    executor: Executor,
    cases: list[Case],
    stage: BatchStage | None = None,
    spelling: Spelling = KHR,
) -> BatchProgram:
    """Return the program of a batch for a device; `stage` is a part of the cases' stage."""
    capabilities = executor.capabilities
    return build(
        cases,
        size=subgroup_size(cases[0], capabilities),
        seed=executor.seed,
        ballot=has_ballot(capabilities),
        denormals=preserved_denormals(capabilities) if spelling.preserves else frozenset(),
        spelling=spelling,
        stage=stage,
    )


def compiled(executor: Executor, program: BatchProgram) -> Module:
    """Return the module of a program."""
    return executor.compile(program.source, stage=program.stage.name, **program.options)


def verdicts_on(
    executor: Executor,
    cases: list[Case],
    stage: BatchStage | None = None,
    program: Callable[..., BatchProgram] = program_of,
) -> list[Verdict]:
    """Execute a batch and return its verdicts.

    `stage` is a part of the cases' stage (`vkgroup.conformance.parts`); None for the whole one. `program`
    makes the program of the batch.
    """
    batch = program(executor, cases, stage)
    outputs, instances = observed(executor, batch, compiled(executor, batch))
    return [verdict_on(entry, batch, instances, outputs) for entry in batch.entries]


def _batch_key(case: Case) -> Hashable:
    """Return the properties that determine control flow, pipeline and execution modes.

    Stage, pattern, shape and subgroup size determine control flow and pipeline. Barriers are separate because
    of their memory, and those that wait are separate from the others. Special data of floats need an
    execution mode for the whole module. The framebuffer limits the number of words. Long vectors need an
    additional feature.
    """
    barrier = BARRIERS[case.operation].kind if case.operation in BARRIERS else ""
    words = planes(result_type(case)) if case.shape == FRAMEBUFFER else 0
    apart = barrier, case.preserved_width, words, is_long(case.glsl_type)
    return case.stage, case.pattern, case.shape, case.subgroup_size, *apart


def _batch_size(case: Case, capabilities: Capabilities) -> int:
    """Return the maximum number of cases in one shader."""
    if case.operation in BARRIERS:
        alone = capabilities.is_gpu and (case.stage, case.pattern) in SEEN_TO_HANG
        return 1 if alone else BARRIER_BATCH // patterns_of(case.stage)[case.pattern].slots
    if case.shape == FRAMEBUFFER:
        words = 4 * int(capabilities.limits.get("maxColorAttachments", LEAST_ATTACHMENTS))
        return max(1, (min(words, MOST_WORDS) - HEADER) // planes(result_type(case)))
    slow = capabilities.driver_name == "llvmpipe" or (capabilities.is_gpu and case.stage != "fragment")
    return SMALL_BATCH if slow else BATCH


SUBGROUP = Family(
    "subgroup", subgroup_cases, missing, verdicts_on, _batch_key, _batch_size, program=program_of
)
"""The built-in functions and variables of KHR_shader_subgroup."""


def observed(executor: Executor, program: BatchProgram, module: Module) -> tuple[Words, Instances]:
    """Run a module of a program; return its outputs and the dynamic instances.

    The outputs are (program.output_words,), with `POISON` in unwritten words.
    """
    inputs = executor.buffer("inputs", program.inputs.nbytes, host=True)
    inputs.write(program.inputs)
    bindings: dict[Any, Any] = {0: inputs}
    for binding, memory in program.memories.items():
        cells = np.zeros(memory.words, np.uint32)
        bindings[binding] = cells.reshape(-1, ROW) if memory.kind == "image" else cells
    stage = program.stage
    if isinstance(stage, TicketStage):
        bindings[TICKETS] = executor.buffer("tickets", 4, host=True)
        bindings[TICKETS].write(np.zeros(1, np.uint32))
    if not isinstance(stage, FramebufferStage):
        blank = poisoned(program.output_words)
        slots = SLOT_PLANES * program.pattern.slots * program.invocations
        blank[program.slots_at : program.slots_at + slots] = 0
        bindings[1] = executor.buffer("outputs", program.output_words * 4, host=True)
        bindings[1].write(blank)
    size = program.entries[0].case.subgroup_size or None
    around, control = stage.around(program.planes), {"specialization": program.specialization}
    results = run_around(executor, stage.name, module, around, bindings, **control, subgroup_size=size)
    if isinstance(stage, FramebufferStage):
        outputs = stage.words(results, program.planes)
    else:
        outputs = bindings[1].read(np.uint32, program.output_words)
    return outputs, read(program, outputs, has_ballot(executor.capabilities))
