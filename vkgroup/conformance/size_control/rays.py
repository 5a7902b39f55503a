"""Shaders of the stages of ray tracing that record their subgroups: one ray or call for each launch."""

from __future__ import annotations

from vkgroup.conformance.size_control.shaders import observing
from vkgroup.conformance.stages.interfaces import RAY_INTERFACES

INVOCATIONS = RAY_INTERFACES["raygen"](False).least
"""Launched invocations; each starts one ray or call where another stage is observed."""


def ray_shader(stage: str) -> str:
    """Return a shader of a stage whose invocations record what they see."""
    interface = RAY_INTERFACES[stage](False)
    declarations, observe = observing(stage, False)
    extensions = "\n".join(f"#extension {name} : require" for name in interface.extensions)
    end = "reportIntersectionEXT(0.5, 0u);" if stage == "intersection" else ""
    return f"""#version 460
// Every invocation of the {stage} stage records what it sees of its subgroup.
{extensions}
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
{interface.layout}
{declarations}
void main() {{
    {observe}
    {end}
}}
"""
