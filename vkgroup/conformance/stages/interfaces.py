"""Stages of draws (except fragment shaders) and of ray tracing, each in the smallest pipeline that runs it.

Vulkan requires that each of these stages runs at least once for each vertex, patch, primitive or ray. A
device may run most of them again. So every invocation takes a ticket from a counter in memory; the ticket
is the position of its record. The data depend on the invocation's *own* number (of its vertex,
patch, primitive or ray), so they do not depend on the order of the invocations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial as with_arguments

import numpy as np

from vkgroup.conformance.arrays import POISON, Indices, Words
from vkgroup.conformance.stages.base import (
    GROUP_OF_BLOCK,
    LANES,
    BatchStage,
    PipelineRest,
    Recorded,
    group_of_block,
    turn_of_block,
)
from vkgroup.dispatch import DrawState

POINTS = DrawState(topology="points")

BLOCK = 4
"""Own numbers of a block: data are chosen as if subgroups began at blocks."""

LEAST = 2048
"""Invocations of a whole draw."""

GRID = (64, 32)
"""Pixels of a draw whose results go to the framebuffer: one for each own number."""

HIDDEN = "gl_Position = vec4(0.0, 0.0, 2.0, 1.0); gl_PointSize = 1.0;"
"""A vertex behind the far plane, so that no fragments are generated."""

_VERTEX = f"#version 460\nvoid main() {{ {HIDDEN} }}"
_FRAGMENT = "#version 460\nvoid main() {}"

PIXEL = f"""vec4 pixel_of(uint own) {{
    vec2 at = vec2(float(own % {GRID[0]}u), float(own / {GRID[0]}u)) + 0.5;
    return vec4(at / vec2({GRID[0]}.0, {GRID[1]}.0) * 2.0 - 1.0, 0.0, 1.0);
}}"""
"""GLSL that gives an own number its pixel."""


@dataclass(frozen=True)
class StageInterface:
    """Pipeline and GLSL code to run a stage, with output to buffers or attachments."""

    thing: str  # name of the object that an invocation processes
    own: str  # GLSL of the own number, which is below `least`
    least: int  # invocations of the draw
    layout: str  # GLSL declarations
    opening: str  # GLSL at the start of `main`, before any return
    around: PipelineRest  # the other stages, which get no data from this one
    extensions: tuple[str, ...] = ()  # GLSL extensions that the stage needs

    def subgroup_name(self, number: int) -> str:
        """Return a phrase for the subgroup whose first active lane has this own number."""
        return f"subgroup from {self.thing} number {number}"


def vertices(count: int, instances: int) -> StageInterface:
    """Return the pipeline that runs a vertex shader on points, several instances of them."""
    return StageInterface(
        "vertices",
        f"uint(gl_InstanceIndex) * {count}u + uint(gl_VertexIndex)",
        count * instances,
        "",
        HIDDEN,
        PipelineRest({"fragment": _FRAGMENT}, {"state": POINTS, "count": count, "instances": instances}),
    )


def _vertex(partial: bool) -> StageInterface:
    """Run a vertex shader on points, four instances of them."""
    return vertices(509 if partial else 512, 4)


def _control(partial: bool) -> StageInterface:
    """Run a control shader on patches of four (or three) vertices, and cull them all."""
    vertices = 3 if partial else 4
    patches = LEAST // vertices
    evaluation = f"""#version 460
layout(quads, point_mode) in;
void main() {{ {HIDDEN} }}"""
    return StageInterface(
        "vertices of patches",
        f"uint(gl_PrimitiveID) * {vertices}u + uint(gl_InvocationID)",
        vertices * patches,
        f"layout(vertices = {vertices}) out;",
        "gl_TessLevelOuter = float[](0.0, 0.0, 0.0, 0.0); gl_TessLevelInner = float[](0.0, 0.0);",
        PipelineRest(
            {"vertex": _VERTEX, "tessellation_evaluation": evaluation, "fragment": _FRAGMENT},
            {"state": DrawState(patch_vertices=1), "count": patches},
        ),
    )


def _evaluation(partial: bool) -> StageInterface:
    """Run an evaluation shader on the corners of squares, 64 (or 49) of a patch."""
    level = 6 if partial else 7
    side = level + 1
    patches = LEAST // side**2
    control = f"""#version 460
layout(vertices = 1) out;
void main() {{
    gl_TessLevelOuter = float[]({", ".join([f"{level}.0"] * 4)});
    gl_TessLevelInner = float[]({level}.0, {level}.0);
}}"""
    corner = f"uint(gl_TessCoord.y * {level}.0 + 0.5) * {side}u + uint(gl_TessCoord.x * {level}.0 + 0.5)"
    return StageInterface(
        "vertices of tessellated patches",
        f"uint(gl_PrimitiveID) * {side**2}u + {corner}",
        patches * side**2,
        "layout(quads, equal_spacing, point_mode) in;",
        HIDDEN,
        PipelineRest(
            {"vertex": _VERTEX, "tessellation_control": control, "fragment": _FRAGMENT},
            {"state": DrawState(patch_vertices=1), "count": patches},
        ),
    )


def _geometry(partial: bool) -> StageInterface:
    """Run a geometry shader four (or three) times for each point; it emits nothing."""
    times = 3 if partial else 4
    points = LEAST // times
    return StageInterface(
        "invocations for points",
        f"uint(gl_PrimitiveIDIn) * {times}u + uint(gl_InvocationID)",
        times * points,
        f"layout(points, invocations = {times}) in;\nlayout(points, max_vertices = 1) out;",
        HIDDEN,
        PipelineRest({"vertex": _VERTEX, "fragment": _FRAGMENT}, {"state": POINTS, "count": points}),
    )


INTERFACES: dict[str, Callable[[bool], StageInterface]] = {
    "vertex": _vertex,
    "tessellation_control": _control,
    "tessellation_evaluation": _evaluation,
    "geometry": _geometry,
}
"""Stage → its interface, whole or partial."""

SCENE = 9
"""The binding of the acceleration structure."""

_SIZES = {False: (64, 32), True: (61, 33)}
"""Launched invocations in x and y, whole and partial."""

_RAY_HEAD = "#version 460\n#extension GL_EXT_ray_tracing : require\n"
_PAYLOAD = "layout(location = 0) rayPayloadInEXT uint payload;"

_RAYS = f"""{_RAY_HEAD}layout(binding = {SCENE}) uniform accelerationStructureEXT scene;
layout(location = 0) rayPayloadEXT uint payload;
void main() {{ // A ray along z for each place of the unit square.
    vec2 at = (vec2(gl_LaunchIDEXT.xy) + 0.5) / vec2(gl_LaunchSizeEXT.xy);
    vec3 from = vec3(at, -1.0), to = vec3(0.0, 0.0, 1.0);
    traceRayEXT(scene, gl_RayFlagsNoneEXT, 0xFFu, 0u, 0u, 0u, from, 0.0, to, 100.0, 0);
}}"""

_CALLS = f"""{_RAY_HEAD}layout(location = 0) callableDataEXT uint number;
void main() {{ executeCallableEXT(0u, 0); }}"""

_MISS = f"{_RAY_HEAD}{_PAYLOAD}\nvoid main() {{}}"

# Stage of ray tracing → its declarations, the other shaders, and the scene that its rays meet.
_RAY_STAGES: dict[str, tuple[str, dict[str, str], str]] = {
    "raygen": ("", {}, ""),
    "any_hit": (_PAYLOAD, {"raygen": _RAYS, "miss": _MISS}, "triangle"),
    "closest_hit": (_PAYLOAD, {"raygen": _RAYS, "miss": _MISS}, "opaque"),
    "miss": (_PAYLOAD, {"raygen": _RAYS}, "nothing"),
    "intersection": ("", {"raygen": _RAYS, "miss": _MISS}, "box"),
    "callable": ("layout(location = 0) callableDataInEXT uint number;", {"raygen": _CALLS}, ""),
}


def _rays(stage: str, partial: bool) -> StageInterface:
    width, height = _SIZES[partial]
    layout, sources, scene = _RAY_STAGES[stage]
    return StageInterface(
        "rays" if scene else "launched invocations",
        f"gl_LaunchIDEXT.y * {width}u + gl_LaunchIDEXT.x",
        width * height,
        layout,
        "",
        PipelineRest(sources, {"size": (width, height), "scene": scene}),
        ("GL_EXT_ray_tracing",),
    )


RAY_INTERFACES: dict[str, Callable[[bool], StageInterface]] = {
    stage: with_arguments(_rays, stage) for stage in _RAY_STAGES
}
"""Stage → its interface, whole or partial."""


TICKETS = 8
"""The binding of the counter that numbers invocations."""


@dataclass(frozen=True)
class TicketStage(BatchStage):
    """Invocations numbered by tickets.

    The ticket of its first active lane identifies a subgroup, and that lane's own number selects the data.
    """

    name: str  # the stage
    interface: StageInterface  # its pipeline

    record_planes = 4

    @property
    def own_numbers(self) -> int:
        """The number of different own numbers."""
        return self.interface.least

    @property
    def extensions(self) -> tuple[str, ...]:
        """GLSL extensions that the interface needs."""
        return self.interface.extensions

    @property
    def invocations(self) -> int:
        """A quarter more than required, because a device may run some again."""
        return self.interface.least * 5 // 4

    @property
    def declarations(self) -> str:
        """The counter of tickets, and the stage's interface."""
        tickets = f"layout(std430, binding = {TICKETS}) buffer Tickets {{ uint tickets; }};"
        return f"const uint LANES = {LANES}u;\n{tickets}\n{self.interface.layout}"

    @property
    def start(self) -> str:
        """GLSL that takes a ticket; subgroup numbers follow from the first active lane."""
        return f"""{self.interface.opening}
    uint own = {self.interface.own};
    uint index = atomicAdd(tickets, 1u);
    if (index >= INVOCATIONS) return; // No room for its record; the counter tells.
    uint subgroup = subgroupBroadcastFirst(index);
    uint number = subgroupBroadcastFirst(own);
    uint block = number / {BLOCK}u;
    {GROUP_OF_BLOCK}
    outputs[index + 3u * INVOCATIONS] = number;"""

    def recorded(self, record: Words) -> Recorded:
        """Return the invocations that took a ticket."""
        index = np.flatnonzero(record[2] != POISON)
        lane, subgroup, size, number = record[:4, index].astype(np.int64)
        least = self.interface.least
        wanted = f"{least} {self.interface.thing}"
        faults = []
        if len(index) < least:
            faults.append(f"the stage ran {len(index)} times where it must run for {wanted}")
        if len(index) == self.invocations:
            faults.append(
                f"the stage ran at least {len(index)} times for {wanted}, and there is no room for more "
                "records"
            )
        block, unseen = number // BLOCK, np.zeros((len(index), 4), np.uint32)
        return Recorded(
            index, lane, subgroup, size, group_of_block(block), number, unseen, tuple(faults),
            turn_of_block(block), np.full(len(index), -1),
        )  # fmt: skip

    def block(self, number: Indices) -> Indices:
        """Return the blocks of own numbers."""
        return number // BLOCK

    def subgroup_name(self, group: int, number: int) -> str:
        """Return a phrase with the vertex, patch, primitive or ray of the first active lane."""
        return self.interface.subgroup_name(number)

    def around(self, planes: int) -> PipelineRest:
        """Return the pipeline."""
        return self.interface.around
