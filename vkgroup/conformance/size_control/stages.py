"""The tested stages, the pipelines that record their subgroup size, and repeated dispatches.

The size is uniform in each dispatch. If it may not vary, it is equal in all dispatches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor, run_around, run_stages
from vkgroup.conformance.size_control.case import SizeAxes
from vkgroup.conformance.size_control.records import WORDS, Seen, verdict_of_sizes
from vkgroup.conformance.size_control.shaders import (
    EMPTY_MESH,
    MOST_RECORDS,
    NUMBERS,
    POINTS,
    SIDE,
    WHITE,
    graphics_shaders,
    ray_shader,
    segments,
    workgroup_shader,
)
from vkgroup.conformance.stages.base import PipelineRest
from vkgroup.conformance.stages.interfaces import RAY_INTERFACES
from vkgroup.conformance.support import STAGE_FEATURES
from vkgroup.device import Capabilities
from vkgroup.dispatch import Buffer, Dispatch, DrawState
from vkgroup.record.record import Status
from vkgroup.spec.stages import PRIMITIVE_STAGES, RAY_STAGES, STAGE_NAMES

Shape = tuple[int, int, int]

WORKGROUPS = 3
"""Workgroups of a dispatch."""

_HEAD = 4  # words of the buffer before the first record
_POINT_SIZE = "shaderTessellationAndGeometryPointSize"
_PREFIX = {"compute": "maxComputeWorkGroup", "task": "maxTaskWorkGroup", "mesh": "maxMeshWorkGroup"}

# glslang 13 compiles no larger workgroups of these stages, whatever a device has.
_LARGEST = {"task": 128, "mesh": 128}


@dataclass(frozen=True)
class StageRow:
    """A stage, or several of one pipeline."""

    name: str  # its part in the names of cases
    observed: tuple[str, ...]  # the stages that record
    features: tuple[str, ...]  # Vulkan's names of the pipeline's requirements
    stores: tuple[str, ...]  # requirements for writing buffers in the observed stages
    workgroups: bool  # whether it has workgroups, for which full subgroups can be required
    attachments: bool  # whether records can be written to attachments instead
    observe: Callable[[Executor, SizeAxes], list[Seen]]  # runs a case and returns the records


def shapes(case: SizeAxes, stage: str, capabilities: Capabilities) -> list[Shape]:
    """Return the shapes of a case's workgroups, which follow limits and the pipeline's rules.

    Full subgroups can be required if the size in x is a multiple of the subgroup size, for every
    possible size; a required size limits the subgroups of a workgroup to `maxComputeWorkgroupSubgroups`.
    """
    limits, control = capabilities.limits, capabilities.size_control
    most = min(int(limits[f"{_PREFIX[stage]}Invocations"]), _LARGEST.get(stage, MOST_RECORDS))
    extent = tuple(int(count) for count in limits[f"{_PREFIX[stage]}Size"])
    width = max(case.legal(capabilities))
    if (required := case.required(capabilities)) is not None:
        most = min(most, required * control.max_compute_workgroup_subgroups)
    wanted = {
        (width, 1, 1), (width, 2, 1), (2 * width, 1, 2), (min(most, extent[0]) // width * width, 1, 1),
    }  # fmt: skip
    if not case.full:
        wanted |= {(1, 1, 1), (1, width, 1), (1, 1, min(width, 64)), (32, 4, 1), (4, 1, 32), (3, 5, 7)}
    fitting = [
        shape
        for shape in wanted
        if 0 < prod(shape) <= most and all(a <= b for a, b in zip(shape, extent, strict=True))
    ]
    return sorted(fitting)


def emptied(executor: Executor) -> Buffer:
    """Return the buffer of records, which is empty."""
    buffer = executor.buffer("sizes", 4 * (_HEAD + WORDS * MOST_RECORDS))
    buffer.write(np.zeros(_HEAD, np.uint32))
    return buffer


def recorded(buffer: Buffer) -> NDArray[np.uint32]:
    """Return the records in the buffer, (invocations, `WORDS`)."""
    count = min(int(buffer.read(np.uint32, 1)[0]), MOST_RECORDS)
    return buffer.read(np.uint32, _HEAD + WORDS * count)[_HEAD:].reshape(count, WORDS)


def _observe_workgroups(executor: Executor, case: SizeAxes) -> list[Seen]:
    """Run compute, task or mesh shaders of each shape; the latter start no mesh shaders, and draw nothing."""
    stage = case.stage
    command: dict[str, Any] = {"groups": WORKGROUPS, "push": {"first_group": 0}}
    others = {}
    if stage != "compute":
        command = {"groups": WORKGROUPS, "size": (SIDE, SIDE)}
        others["fragment"] = WHITE
    if stage == "task":
        others["mesh"] = EMPTY_MESH
    seen = []
    for shape in shapes(case, stage, executor.capabilities):
        module = executor.compile(workgroup_shader(stage, shape), stage=stage, target=case.target)
        buffer = emptied(executor)
        control = case.control(executor.capabilities)
        run_around(executor, stage, module, PipelineRest(others, command), {0: buffer}, **control)
        seen.append(Seen(stage, recorded(buffer), WORKGROUPS * prod(shape), shape, WORKGROUPS))
    return seen


def _observe_graphics(executor: Executor, case: SizeAxes) -> list[Seen]:
    """Draw one point for each pixel of the target, or one triangle if only fragments are observed."""
    observed = STAGES[case.stage].observed
    wanted = {"vertex", "fragment", *observed}
    if any(stage.startswith("tessellation") for stage in observed):
        wanted |= {"tessellation_control", "tessellation_evaluation"}
    stages = [stage for stage in NUMBERS if stage in wanted]
    sources = graphics_shaders(
        stages,
        observed,
        framebuffer=case.framebuffer,
        point_size=_POINT_SIZE in executor.capabilities.features,
    )
    modules = {
        stage: executor.compile(source, stage=stage, target=case.target)
        if stage in observed
        else executor.plain(source, stage)
        for stage, source in sources.items()
    }
    command: dict[str, Any] = {"size": (SIDE, SIDE), "count": POINTS, "state": DrawState(topology="points")}
    least = {}
    if "tessellation_control" in modules:
        patches = 2 * POINTS // (segments(observed) + 1)
        command |= {"count": patches, "state": DrawState(patch_vertices=2)}
        least["tessellation_control"] = patches
    buffer = None if case.framebuffer else emptied(executor)
    bindings = {} if buffer is None else {0: buffer}
    control = case.control(executor.capabilities)
    result = run_stages(executor, observed[0], modules, command, bindings, **control)
    if buffer is None:
        # Pixels with the clear value have no record.
        pixels = np.zeros((POINTS, WORDS), np.uint32)
        pixels[:, :4], pixels[:, 4:8] = result["first"].reshape(-1, 4), result["mask"].reshape(-1, 4)
        return [Seen(observed[0], pixels[pixels[:, 0] != 0], POINTS)]
    records = recorded(buffer)
    return [
        Seen(stage, records[records[:, 3] == NUMBERS[stage]], least.get(stage, POINTS)) for stage in observed
    ]


def _observe_rays(executor: Executor, case: SizeAxes) -> list[Seen]:
    """Start a ray or a call, of the case's stage, for each launched invocation."""
    interface, control = RAY_INTERFACES[case.stage](False), case.control(executor.capabilities)
    del control["full_subgroups"]
    buffer = emptied(executor)
    module = executor.compile(ray_shader(case.stage), stage=case.stage, target=case.target)
    run_around(executor, case.stage, module, interface.around, {0: buffer}, **control)
    return [Seen(case.stage, recorded(buffer), interface.least)]


def _graphics(*observed: str, features: tuple[str, ...] = (), name: str = "") -> StageRow:
    stores = tuple(dict.fromkeys(STAGE_NAMES[stage].store_feature for stage in observed))
    alone = len(observed) == 1
    return StageRow(name or observed[0], observed, features, stores, False, alone, _observe_graphics)


_TESSELLATION, _GEOMETRY = "tessellationShader", "geometryShader"

_ROWS = (
    StageRow("compute", ("compute",), (), (), True, False, _observe_workgroups),
    _graphics("vertex"),
    _graphics("tessellation_control", features=(_TESSELLATION,)),
    _graphics("tessellation_evaluation", features=(_TESSELLATION,)),
    _graphics("geometry", features=(_GEOMETRY,)),
    _graphics("fragment"),
    _graphics(*PRIMITIVE_STAGES, features=(_TESSELLATION, _GEOMETRY), name="graphics"),
    StageRow("task", ("task",), ("meshShader", "taskShader"), (), True, False, _observe_workgroups),
    StageRow("mesh", ("mesh",), ("meshShader",), (), True, False, _observe_workgroups),
    *(
        StageRow(stage, (stage,), STAGE_FEATURES[stage], (), False, False, _observe_rays)
        for stage in RAY_STAGES
    ),
)

STAGES: dict[str, StageRow] = {row.name: row for row in _ROWS}
"""All rows by name."""


# --- several dispatches -----------------------------------------------------------------------------------

GROUPS = (1, 3, 2, 5, 1)
"""Workgroups of the dispatches of one pipeline, one after another in one submission."""


def local_sizes(case: SizeAxes, capabilities: Capabilities) -> list[int]:
    """Return the sizes of 1-D workgroups that a case dispatches: powers of two, as the device allows."""
    limits, control = capabilities.limits, capabilities.size_control
    most = min(int(limits["maxComputeWorkGroupInvocations"]), int(limits["maxComputeWorkGroupSize"][0]))
    if (required := case.required(capabilities)) is not None:
        most = min(most, required * control.max_compute_workgroup_subgroups)
    least = max(case.legal(capabilities)) if case.full else 1
    most = min(most, MOST_RECORDS // sum(GROUPS))
    return [1 << bit for bit in range(most.bit_length()) if least <= 1 << bit <= most]


def verdict_of_dispatches(executor: Executor, case: SizeAxes) -> Verdict:
    """Dispatch one pipeline of each local size several times; return the records of each dispatch."""
    capabilities = executor.capabilities
    seen: list[Seen] = []
    for invocations in local_sizes(case, capabilities):
        seen += _dispatched(executor, case, (invocations, 1, 1))
    verdict = verdict_of_sizes(case, seen, capabilities)
    constant = case.required(capabilities) is not None or not (case.choice.varying or case.spirv16)
    if verdict.status is Status.PASS and constant and len({int(one.records[0, 0]) for one in seen}) > 1:
        return Verdict(Status.FAIL, verdict.defined, 0, f"{verdict.detail} in dispatches of one size")
    return verdict


def _dispatched(executor: Executor, case: SizeAxes, shape: tuple[int, int, int]) -> list[Seen]:
    module = executor.compile(workgroup_shader("compute", shape), stage="compute", target=case.target)
    buffer = emptied(executor)
    firsts = np.cumsum((0, *GROUPS))
    control = case.control(executor.capabilities)
    with executor.device.pipeline(module, **control) as pipeline, pipeline.bind({0: buffer}) as bound:
        steps = [
            Dispatch(bound, groups, {"first_group": int(first)})
            for groups, first in zip(GROUPS, firsts[:-1], strict=True)
        ]
        with executor.device.sequence(steps) as sequence:
            sequence.run(timeout=executor.timeout)
    return [
        Seen("compute", records, groups * prod(shape), shape, groups)
        for groups, records in zip(GROUPS, _by_dispatch(recorded(buffer), firsts), strict=True)
    ]


def _by_dispatch(records: NDArray[np.uint32], firsts: NDArray[np.int64]) -> list[NDArray[np.uint32]]:
    """Split the records by dispatch; workgroups are numbered consecutively over all dispatches."""
    number = np.searchsorted(firsts, records[:, 8].astype(np.int64), side="right") - 1
    parts = [records[number == dispatch].copy() for dispatch in range(len(GROUPS))]
    for part, first in zip(parts, firsts, strict=False):
        part[:, 8] -= np.uint32(first)
    return parts
