"""Vertex, tessellation and geometry shaders: the smallest pipeline in which each runs thousands of times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vkgroup.conformance.stages.base import Around
from vkgroup.dispatch import DrawState

POINTS = DrawState(topology="points")

LEAST = 2048
"""Invocations of a whole draw."""

GRID = (64, 32)
"""Pixels of a draw whose results go to the framebuffer: one for each own number."""

HIDDEN = "gl_Position = vec4(0.0, 0.0, 2.0, 1.0); gl_PointSize = 1.0;"
"""A vertex behind the far plane, of which no fragment comes."""

_VERTEX = f"#version 460\nvoid main() {{ {HIDDEN} }}"
_FRAGMENT = "#version 460\nvoid main() {}"

PIXEL = f"""vec4 pixel_of(uint own) {{
    vec2 at = vec2(float(own % {GRID[0]}u), float(own / {GRID[0]}u)) + 0.5;
    return vec4(at / vec2({GRID[0]}.0, {GRID[1]}.0) * 2.0 - 1.0, 0.0, 1.0);
}}"""
"""GLSL that gives an own number its pixel."""


@dataclass(frozen=True)
class Interface:
    """How a stage is run, and how its results leave it where it may not write to buffers.

    Attributes
    ----------
    thing : what an invocation runs for, in words.
    own : GLSL of the own number, which is below `least`.
    least : invocations of the draw.
    layout : GLSL declarations.
    opening : GLSL at the begin of `main`, before anything may return.
    around : the other stages, none of which is given anything by this one.
    extensions : GLSL extensions that the stage needs.
    """

    thing: str
    own: str
    least: int
    layout: str
    opening: str
    around: Around
    extensions: tuple[str, ...] = ()


def _vertex(partial: bool) -> Interface:
    """Run a vertex shader on points, four instances of them."""
    count, instances = (509 if partial else 512), 4
    return Interface(
        "vertices",
        f"uint(gl_InstanceIndex) * {count}u + uint(gl_VertexIndex)",
        count * instances,
        "",
        HIDDEN,
        Around({"fragment": _FRAGMENT}, {"state": POINTS, "count": count, "instances": instances}),
    )


def _control(partial: bool) -> Interface:
    """Run a control shader on patches of four (or three) vertices, all of which it culls."""
    vertices = 3 if partial else 4
    patches = LEAST // vertices
    evaluation = f"""#version 460
layout(quads, point_mode) in;
void main() {{ {HIDDEN} }}"""
    return Interface(
        "vertices of patches",
        f"uint(gl_PrimitiveID) * {vertices}u + uint(gl_InvocationID)",
        vertices * patches,
        f"layout(vertices = {vertices}) out;",
        "gl_TessLevelOuter = float[](0.0, 0.0, 0.0, 0.0); gl_TessLevelInner = float[](0.0, 0.0);",
        Around(
            {"vertex": _VERTEX, "tessellation_evaluation": evaluation, "fragment": _FRAGMENT},
            {"state": DrawState(patch_vertices=1), "count": patches},
        ),
    )


def _evaluation(partial: bool) -> Interface:
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
    return Interface(
        "vertices of tessellated patches",
        f"uint(gl_PrimitiveID) * {side**2}u + {corner}",
        patches * side**2,
        "layout(quads, equal_spacing, point_mode) in;",
        HIDDEN,
        Around(
            {"vertex": _VERTEX, "tessellation_control": control, "fragment": _FRAGMENT},
            {"state": DrawState(patch_vertices=1), "count": patches},
        ),
    )


def _geometry(partial: bool) -> Interface:
    """Run a geometry shader four (or three) times for each point; it emits nothing."""
    times = 3 if partial else 4
    points = LEAST // times
    return Interface(
        "invocations for points",
        f"uint(gl_PrimitiveIDIn) * {times}u + uint(gl_InvocationID)",
        times * points,
        f"layout(points, invocations = {times}) in;\nlayout(points, max_vertices = 1) out;",
        HIDDEN,
        Around({"vertex": _VERTEX, "fragment": _FRAGMENT}, {"state": POINTS, "count": points}),
    )


INTERFACES: dict[str, Callable[[bool], Interface]] = {
    "vertex": _vertex,
    "tessellation_control": _control,
    "tessellation_evaluation": _evaluation,
    "geometry": _geometry,
}
"""Stage → its interface, whole or partial."""
