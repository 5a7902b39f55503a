"""The subgroup size in the stages of ray tracing: one ray, or one call, for each launched invocation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vkgroup.conformance.running import HIT_STAGES, SCENES
from vkgroup.conformance.size_control.shaders import observing
from vkgroup.conformance.stages import SCENE
from vkgroup.conformance.stages.rays import RAY_INTERFACES
from vkgroup.dispatch import HitGroup

if TYPE_CHECKING:
    from vkgroup.compiler import Target
    from vkgroup.conformance.execute import Executor
    from vkgroup.dispatch import Buffer

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


def trace(executor: Executor, stage: str, buffer: Buffer, target: Target, control: dict[str, Any]) -> None:
    """Trace rays through a scene that brings every one of them to the stage.

    Parameters
    ----------
    buffer : where records go.
    target, control : what the observed shader is compiled for; what the pipeline says of the subgroup size.
    """
    around = RAY_INTERFACES[stage](False).around
    stages: dict[str, Any] = {name: executor.plain(source, name) for name, source in around.sources.items()}
    stages[stage] = executor.compile(ray_shader(stage), stage=stage, target=target)
    bindings: dict[Any, Any] = {0: buffer}
    if scene := around.arguments["scene"]:
        bindings[SCENE] = executor.keep(f"scene {scene}", SCENES[scene])
    hits = {name: stages[name] for name in HIT_STAGES if name in stages}
    executor.device.trace(
        stages["raygen"],
        around.arguments["size"],
        bindings,
        miss=[stages["miss"]] if "miss" in stages else (),
        hit_groups=[HitGroup(**hits)] if hits else (),
        callable=[stages["callable"]] if "callable" in stages else (),
        timeout=executor.timeout,
        **control,
    )
