"""The stages of ray tracing: one ray, or one call, for each of thousands of launched invocations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial as with_arguments

from vkgroup.conformance.stages.base import Around
from vkgroup.conformance.stages.graphics import Interface

SCENE = 9
"""The binding of the acceleration structure."""

SIZES = {False: (64, 32), True: (61, 33)}
"""Launched invocations in x and y, whole and partial."""

_HEAD = "#version 460\n#extension GL_EXT_ray_tracing : require\n"
_PAYLOAD = "layout(location = 0) rayPayloadInEXT uint payload;"

_RAYS = f"""{_HEAD}layout(binding = {SCENE}) uniform accelerationStructureEXT scene;
layout(location = 0) rayPayloadEXT uint payload;
void main() {{ // A ray along z for each place of the unit square.
    vec2 at = (vec2(gl_LaunchIDEXT.xy) + 0.5) / vec2(gl_LaunchSizeEXT.xy);
    vec3 from = vec3(at, -1.0), to = vec3(0.0, 0.0, 1.0);
    traceRayEXT(scene, gl_RayFlagsNoneEXT, 0xFFu, 0u, 0u, 0u, from, 0.0, to, 100.0, 0);
}}"""

_CALLS = f"""{_HEAD}layout(location = 0) callableDataEXT uint number;
void main() {{ executeCallableEXT(0u, 0); }}"""

_MISS = f"{_HEAD}{_PAYLOAD}\nvoid main() {{}}"

# Stage → its declarations, the other shaders, and the scene that its rays meet.
_TABLE: dict[str, tuple[str, dict[str, str], str]] = {
    "raygen": ("", {}, ""),
    "any_hit": (_PAYLOAD, {"raygen": _RAYS, "miss": _MISS}, "triangle"),
    "closest_hit": (_PAYLOAD, {"raygen": _RAYS, "miss": _MISS}, "opaque"),
    "miss": (_PAYLOAD, {"raygen": _RAYS}, "nothing"),
    "intersection": ("", {"raygen": _RAYS, "miss": _MISS}, "box"),
    "callable": ("layout(location = 0) callableDataInEXT uint number;", {"raygen": _CALLS}, ""),
}


def _interface(stage: str, partial: bool) -> Interface:
    width, height = SIZES[partial]
    layout, sources, scene = _TABLE[stage]
    return Interface(
        "rays" if scene else "launched invocations",
        f"gl_LaunchIDEXT.y * {width}u + gl_LaunchIDEXT.x",
        width * height,
        layout,
        "",
        Around(sources, {"size": (width, height), "scene": scene}),
        ("GL_EXT_ray_tracing",),
    )


RAY_INTERFACES: dict[str, Callable[[bool], Interface]] = {
    stage: with_arguments(_interface, stage) for stage in _TABLE
}
"""Stage → its interface, whole or partial."""
