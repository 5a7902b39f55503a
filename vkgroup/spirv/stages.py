"""The fourteen shader stages: our name, SPIR-V's execution model, and the file suffix that means it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A shader stage.

    Attributes
    ----------
    name : Vulkan's name (`VkShaderStageFlagBits`) in lower case, without prefix and vendor.
    execution_models : SPIR-V's names of it; the first is the one of the KHR or EXT extension.
    suffix : what a GLSL file's name ends with, without the dot.
    since : the SPIR-V version that the extension asks for which brings the stage.
    """

    name: str
    execution_models: tuple[str, ...]
    suffix: str
    since: tuple[int, int] = (1, 0)


STAGES: tuple[Stage, ...] = (
    Stage("vertex", ("Vertex",), "vert"),
    Stage("tessellation_control", ("TessellationControl",), "tesc"),
    Stage("tessellation_evaluation", ("TessellationEvaluation",), "tese"),
    Stage("geometry", ("Geometry",), "geom"),
    Stage("fragment", ("Fragment",), "frag"),
    Stage("compute", ("GLCompute", "Kernel"), "comp"),
    Stage("task", ("TaskEXT", "TaskNV"), "task", (1, 4)),
    Stage("mesh", ("MeshEXT", "MeshNV"), "mesh", (1, 4)),
    Stage("raygen", ("RayGenerationKHR", "RayGenerationNV"), "rgen", (1, 4)),
    Stage("any_hit", ("AnyHitKHR", "AnyHitNV"), "rahit", (1, 4)),
    Stage("closest_hit", ("ClosestHitKHR", "ClosestHitNV"), "rchit", (1, 4)),
    Stage("miss", ("MissKHR", "MissNV"), "rmiss", (1, 4)),
    Stage("intersection", ("IntersectionKHR", "IntersectionNV"), "rint", (1, 4)),
    Stage("callable", ("CallableKHR", "CallableNV"), "rcall", (1, 4)),
)

#: Stage by name and by suffix.
STAGE_NAMES: dict[str, Stage] = {key: stage for stage in STAGES for key in (stage.name, stage.suffix)}

#: Stage by SPIR-V execution model.
EXECUTION_MODELS: dict[str, Stage] = {model: stage for stage in STAGES for model in stage.execution_models}

#: The stages of ray tracing.
RAY_STAGES: tuple[str, ...] = ("raygen", "any_hit", "closest_hit", "miss", "intersection", "callable")
