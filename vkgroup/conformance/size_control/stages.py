"""The stages whose subgroup size is judged: one row each, with what runs it and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.size_control.case import SizeAxes
from vkgroup.conformance.size_control.rays import INVOCATIONS, ray_shader
from vkgroup.conformance.size_control.records import WORDS, Seen
from vkgroup.conformance.size_control.shaders import (
    EMPTY_MESH,
    MOST_RECORDS,
    NUMBERS,
    POINTS,
    SIDE,
    WHITE,
    graphics_shaders,
    segments,
    workgroup_shader,
)
from vkgroup.conformance.stages.interfaces import RAY_INTERFACES
from vkgroup.conformance.support import STAGE_FEATURES
from vkgroup.conformance.tracing import trace
from vkgroup.device import Capabilities
from vkgroup.dispatch import Buffer, DrawState
from vkgroup.spec.stages import PRIMITIVE_STAGES, RAY_STAGES

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
    """A stage, or several of one pipeline.

    Attributes
    ----------
    name : its part in the names of cases.
    observed : the stages that record what they see.
    features : Vulkan's names of what the pipeline needs.
    stores : those that writing buffers from the observed stages needs.
    workgroups : whether it has workgroups, whose subgroups can be demanded full.
    attachments : whether what is seen can leave through attachments instead.
    observe : runs a case and returns what was seen.
    """

    name: str
    observed: tuple[str, ...]
    features: tuple[str, ...]
    stores: tuple[str, ...]
    workgroups: bool
    attachments: bool
    observe: Callable[[Executor, SizeAxes], list[Seen]]


def shapes(case: SizeAxes, stage: str, capabilities: Capabilities) -> list[Shape]:
    """Return the shapes of workgroups that a case is judged on, by limits and the pipeline's rules.

    Full subgroups can be demanded where the size in x is a multiple of the subgroup size, whichever it will
    be; a required size limits the subgroups of a workgroup to `maxComputeWorkgroupSubgroups`.
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


def control_of(case: SizeAxes, capabilities: Capabilities) -> dict[str, Any]:
    """Return what a case says of the subgroup size, as arguments of pipelines and draws."""
    return {
        "subgroup_size": case.required(capabilities),
        "varying_subgroup_size": case.choice.varying,
        "full_subgroups": case.full,
    }


def emptied(executor: Executor) -> Buffer:
    """Return the buffer of records, without any."""
    buffer = executor.buffer("sizes", 4 * (_HEAD + WORDS * MOST_RECORDS))
    buffer.write(np.zeros(_HEAD, np.uint32))
    return buffer


def recorded(buffer: Buffer) -> NDArray[np.uint32]:
    """Return the records in the buffer, (invocations, `WORDS`)."""
    count = min(int(buffer.read(np.uint32, 1)[0]), MOST_RECORDS)
    return buffer.read(np.uint32, _HEAD + WORDS * count)[_HEAD:].reshape(count, WORDS)


def _observe_compute(executor: Executor, case: SizeAxes) -> list[Seen]:
    seen = []
    for shape in shapes(case, "compute", executor.capabilities):
        module = executor.compile(workgroup_shader("compute", shape), stage="compute", target=case.target)
        buffer = emptied(executor)
        control = control_of(case, executor.capabilities)
        with executor.device.pipeline(module, **control) as pipeline, pipeline.bind({0: buffer}) as bound:
            bound.dispatch((WORKGROUPS, 1, 1), {"first_group": 0}, timeout=executor.timeout)
        seen.append(Seen("compute", recorded(buffer), WORKGROUPS * prod(shape), shape, WORKGROUPS))
    return seen


def _observe_mesh(executor: Executor, case: SizeAxes) -> list[Seen]:
    """Run task or mesh shaders of each shape; they start no mesh shaders, and draw nothing."""
    seen = []
    for shape in shapes(case, case.stage, executor.capabilities):
        observed = executor.compile(workgroup_shader(case.stage, shape), stage=case.stage, target=case.target)
        stages: dict[str, Any] = {case.stage: observed}
        if case.stage == "task":
            stages["mesh"] = executor.plain(EMPTY_MESH, "mesh")
        buffer = emptied(executor)
        executor.device.draw(
            executor.plain(WHITE, "fragment"),
            (SIDE, SIDE),
            {0: buffer},
            **stages,
            groups=WORKGROUPS,
            timeout=executor.timeout,
            **control_of(case, executor.capabilities),
        )
        seen.append(Seen(case.stage, recorded(buffer), WORKGROUPS * prod(shape), shape, WORKGROUPS))
    return seen


def _pipeline_stages(observed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the stages of the pipeline that observes some."""
    stages = {"vertex", "fragment", *observed}
    if any(stage.startswith("tessellation") for stage in observed):
        stages |= {"tessellation_control", "tessellation_evaluation"}
    return tuple(stage for stage in NUMBERS if stage in stages)


def _observe_graphics(executor: Executor, case: SizeAxes) -> list[Seen]:
    """Draw as many points as the target has pixels, or one triangle where fragments alone are observed."""
    observed = STAGES[case.stage].observed
    stages = _pipeline_stages(observed)
    sources = graphics_shaders(
        stages,
        observed,
        framebuffer=case.framebuffer,
        point_size=_POINT_SIZE in executor.capabilities.features,
    )
    modules: dict[str, Any] = {
        stage: executor.compile(source, stage=stage, target=case.target)
        if stage in observed
        else executor.plain(source, stage)
        for stage, source in sources.items()
    }
    fragment = modules.pop("fragment")
    given: dict[str, Any] = {"count": POINTS, "state": DrawState(topology="points")}
    if "tessellation_control" in modules:
        pair = modules.pop("tessellation_control"), modules.pop("tessellation_evaluation")
        given = {
            "tessellation": pair,
            "state": DrawState(patch_vertices=2),
            "count": 2 * POINTS // (segments(observed) + 1),
        }
    buffer = None if case.framebuffer else emptied(executor)
    result = executor.device.draw(
        fragment,
        (SIDE, SIDE),
        {} if buffer is None else {0: buffer},
        **modules,
        **given,
        timeout=executor.timeout,
        **control_of(case, executor.capabilities),
    )
    if buffer is None:
        return [_from_pixels(observed[0], result)]
    records = recorded(buffer)
    least = {"tessellation_control": given["count"]} if "tessellation" in given else {}
    return [
        Seen(stage, records[records[:, 3] == NUMBERS[stage]], least.get(stage, POINTS)) for stage in observed
    ]


def _from_pixels(stage: str, result: Any) -> Seen:
    """Return the records of the pixels that are not as they were cleared."""
    pixels = np.zeros((POINTS, WORDS), np.uint32)
    pixels[:, :4], pixels[:, 4:8] = result["first"].reshape(-1, 4), result["mask"].reshape(-1, 4)
    return Seen(stage, pixels[pixels[:, 0] != 0], POINTS)


_TESSELLATION, _VERTEX_STORES = ("tessellationShader",), ("vertexPipelineStoresAndAtomics",)


def _graphics(
    name: str, observed: tuple[str, ...], features: tuple[str, ...], stores: tuple[str, ...]
) -> StageRow:
    alone = len(observed) == 1
    return StageRow(name, observed, features, stores, False, alone, _observe_graphics)


def _workgroups(name: str, features: tuple[str, ...], observe: Any) -> StageRow:
    return StageRow(name, (name,), features, (), True, False, observe)


def _observe_rays(executor: Executor, case: SizeAxes) -> list[Seen]:
    control = control_of(case, executor.capabilities)
    del control["full_subgroups"]
    buffer = emptied(executor)
    module = executor.compile(ray_shader(case.stage), stage=case.stage, target=case.target)
    trace(executor, RAY_INTERFACES[case.stage](False).around, case.stage, module, {0: buffer}, **control)
    return [Seen(case.stage, recorded(buffer), INVOCATIONS)]


def _rays(name: str) -> StageRow:
    return StageRow(name, (name,), STAGE_FEATURES[name], (), False, False, _observe_rays)


_ROWS = (
    _workgroups("compute", (), _observe_compute),
    _graphics("vertex", ("vertex",), (), _VERTEX_STORES),
    _graphics("tessellation_control", ("tessellation_control",), _TESSELLATION, _VERTEX_STORES),
    _graphics("tessellation_evaluation", ("tessellation_evaluation",), _TESSELLATION, _VERTEX_STORES),
    _graphics("geometry", ("geometry",), ("geometryShader",), _VERTEX_STORES),
    _graphics("fragment", ("fragment",), (), ("fragmentStoresAndAtomics",)),
    _graphics(
        "graphics",
        PRIMITIVE_STAGES,
        (*_TESSELLATION, "geometryShader"),
        (*_VERTEX_STORES, "fragmentStoresAndAtomics"),
    ),
    _workgroups("task", ("meshShader", "taskShader"), _observe_mesh),
    _workgroups("mesh", ("meshShader",), _observe_mesh),
    *(_rays(stage) for stage in RAY_STAGES),
)

STAGES: dict[str, StageRow] = {row.name: row for row in _ROWS}
"""All rows by name."""
