"""The family of the subgroup operations: every built-in of KHR_shader_subgroup, by type, pattern and data.

Cases of one stage, pattern, shape and subgroup size make one program, and one dispatch or draw.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
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
    lacking_features,
    lacking_quads,
    lacking_size,
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

SMALL_BATCH = 16
"""Cases in a batch on lavapipe, and on GPUs in stages other than fragment: with more, their compilers need
longer for each case."""


def subgroup_size(case: Case, capabilities: Capabilities) -> int:
    """Return the subgroup size at which a case runs on a device."""
    return case.subgroup_size or capabilities.subgroup.size


class _Lacking:
    """What a device lacks for cases; the answers are kept: half a million cases share a few thousand."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self._of_cases: dict[Hashable, tuple[str, ...]] = {}
        self._of_operands: dict[Hashable, tuple[str, ...]] = {}

    def of(self, case: Case) -> list[str]:
        """Return the requirements that the device lacks."""
        place = case.stage, case.pattern, case.shape, case.subgroup_size
        width = case.preserved_width if case.data == "special" else 0
        of_case = *place, case.category, case.type, width, case.operation in BARRIERS
        needs = self._of_cases.get(of_case)
        if needs is None:
            needs = self._of_cases[of_case] = tuple(_of_case(case, self.capabilities))
        of_operand = *place, case.operation, case.operand
        others = self._of_operands.get(of_operand)
        if others is None:
            others = self._of_operands[of_operand] = tuple(_of_operand(case, self.capabilities))
        return [*needs, *others]


_last_asked: list[_Lacking] = []


def missing(case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks, by Vulkan's names; empty if none."""
    if not _last_asked or _last_asked[0].capabilities is not capabilities:
        _last_asked[:] = [_Lacking(capabilities)]
    return _last_asked[0].of(case)


def _of_case(case: Case, capabilities: Capabilities) -> Iterator[str]:
    """Yield the lacking requirements of stage, category, pattern and type."""
    category, type_, subgroup = Category(case.category), case.glsl_type, capabilities.subgroup
    pattern, ballot = patterns_of(case.stage)[case.pattern], has_ballot(capabilities)
    observed = case.stage not in WORKGROUP_STAGES or not pattern.uniform or case.operation in BARRIERS
    nv, promoted = "VK_NV_shader_subgroup_partitioned", "shaderSubgroupPartitioned"
    preserving = f"shaderSignedZeroInfNanPreserveFloat{case.preserved_width}"

    yield from lacking_stages((case.stage,), capabilities)
    if category.declared not in subgroup.supported_operations:
        yield category.feature
    yield from lacking_features(category.features, capabilities)
    partitions = nv in capabilities.extensions or promoted in capabilities.features
    if category is Category.PARTITIONED and not partitions:
        yield f"{nv} or {promoted}"
    if subgroup_size(case, capabilities) < pattern.least_size:
        yield f"a subgroup size of at least {pattern.least_size} (smaller ones execute nothing)"
    without = STORES if case.shape == FRAMEBUFFER else ()
    stage_features = (name for name in STAGE_FEATURES.get(case.stage, ()) if name not in without)
    yield from lacking_features(stage_features, capabilities)
    if case.stage in DRAWN and subgroup.size < QUAD_SIZE:
        yield f"a subgroup size of at least {QUAD_SIZE} (the fragments of a draw are shaded in quads)"
    if category is Category.QUAD:
        yield from lacking_quads(case.stage, capabilities)
    yield from lacking_features(pattern.leave.features, capabilities)
    if observed and not ballot:
        yield "VK_SUBGROUP_FEATURE_BALLOT_BIT (to observe the active mask)"
    type_features = [*type_.scalar.subgroup_features, *(["longVector"] if is_long(type_) else [])]
    yield from lacking_features(type_features, capabilities)
    if case.preserved_width and not capabilities.float_controls.get(preserving, False):
        yield preserving


def _of_operand(case: Case, capabilities: Capabilities) -> Iterator[str]:
    """Yield the lacking requirements of the operation, its operand and the subgroup size in the workgroup."""
    size, operand = subgroup_size(case, capabilities), choices(case.operation).get(case.operand)
    if case.operation in BARRIERS:
        lanes = -(-_invocations(case) // size) * size
        if lanes > GROUP_CELLS and case.stage in WORKGROUP_STAGES:
            yield f"at most {GROUP_CELLS} lanes a workgroup"
    elif operand is not None and operand.cluster > size:
        yield f"a subgroup size of at least {operand.cluster} (it is {size}; larger clusters are undefined)"
    elif operand is not None:
        if (operand.leader or operand.labels) and not has_ballot(capabilities):
            yield "VK_SUBGROUP_FEATURE_BALLOT_BIT (to make the operand)"
        dynamic, operands = "subgroupBroadcastDynamicId", SUBGROUP_OPERATIONS[case.operation].operands
        constant = any(row.kind is OperandKind.ID and row.constant for row in operands)
        if constant and operand.literal is None and dynamic not in capabilities.features:
            yield dynamic
    if case.subgroup_size:
        yield from lacking_size(case.subgroup_size, case.stage, _invocations(case), capabilities)


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
        denormals=preserved_denormals(capabilities) if spelling is KHR else frozenset(),
        spelling=spelling,
        stage=stage,
    )


def compiled(executor: Executor, program: BatchProgram) -> Module:
    """Return the module of a program."""
    return executor.compile(program.source, stage=program.stage.name, **program.spelling.options)


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
    """Return the properties that determine control flow, pipeline, execution modes and features.

    Barriers are separate because of their memory, and those that wait are separate from the others. The
    framebuffer limits the number of words.
    """
    barrier = BARRIERS[case.operation].kind if case.operation in BARRIERS else ""
    words = planes(result_type(case)) if case.shape == FRAMEBUFFER else 0
    apart = barrier, case.preserved_width, words, is_long(case.glsl_type)
    return case.stage, case.pattern, case.shape, case.subgroup_size, *apart


def _batch_size(case: Case, capabilities: Capabilities) -> int:
    """Return the maximum number of cases in one shader, which costs far less to compile than one for each."""
    if case.operation in BARRIERS:
        alone = capabilities.is_gpu and (case.stage, case.pattern) in SEEN_TO_HANG
        # Each has cells in shared memory, of which 16 KiB are required.
        return 1 if alone else 4 // patterns_of(case.stage)[case.pattern].slots
    if case.shape == FRAMEBUFFER:
        # Every device has 4 color attachments (Vulkan 1.4, Required Limits), and passes 64 components between
        # stages. Words 0 to 7 are the record: lane, subgroup, size, whether executed, and the mask.
        words = min(4 * int(capabilities.limits.get("maxColorAttachments", 4)), 32) - 8
        return max(1, words // planes(result_type(case)))
    slow = capabilities.driver_name == "llvmpipe" or (capabilities.is_gpu and case.stage != "fragment")
    return SMALL_BATCH if slow else 32


SUBGROUP = Family(
    "subgroup", subgroup_cases, missing, verdicts_on, _batch_key, _batch_size, program=program_of
)
"""The built-in functions and variables of KHR_shader_subgroup."""


def observed(executor: Executor, program: BatchProgram, module: Module) -> tuple[Words, Instances]:
    """Run a module of a program; return its outputs and the dynamic instances.

    The outputs are (program.output_words,), with `POISON` in unwritten words.
    """
    stage, size = program.stage, program.entries[0].case.subgroup_size or None
    bindings: dict[Any, Any] = {0: executor.filled("inputs", program.inputs)}
    if program.spelling.options.get("dialect") in ("slang", "wgsl"):
        # Their compilers leave out a buffer that a program does not use.
        declared = {binding.place for binding in module.reflection.bindings}
        bindings = {number: buffer for number, buffer in bindings.items() if (0, number) in declared}
    for binding, memory in program.memories.items():
        cells = np.zeros(memory.words, np.uint32)
        bindings[binding] = cells.reshape(-1, ROW) if memory.kind == "image" else cells
    if isinstance(stage, TicketStage):
        bindings[TICKETS] = executor.filled("tickets", np.zeros(1, np.uint32))
    if not isinstance(stage, FramebufferStage):
        blank = poisoned(program.output_words)
        blank[program.slots_at :][: SLOT_PLANES * program.pattern.slots * program.invocations] = 0
        bindings[1] = executor.filled("outputs", blank)
    control = {"specialization": program.specialization, "subgroup_size": size}
    results = run_around(executor, stage.name, module, stage.around(program.planes), bindings, **control)
    if isinstance(stage, FramebufferStage):
        outputs = stage.words(results, program.planes)
    else:
        outputs = bindings[1].read(np.uint32, program.output_words)
    return outputs, read(program, outputs, has_ballot(executor.capabilities))
