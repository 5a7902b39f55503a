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
    """

    name: str
    execution_models: tuple[str, ...]
    suffix: str


STAGES: tuple[Stage, ...] = (
    Stage("vertex", ("Vertex",), "vert"),
    Stage("tessellation_control", ("TessellationControl",), "tesc"),
    Stage("tessellation_evaluation", ("TessellationEvaluation",), "tese"),
    Stage("geometry", ("Geometry",), "geom"),
    Stage("fragment", ("Fragment",), "frag"),
    Stage("compute", ("GLCompute", "Kernel"), "comp"),
    Stage("task", ("TaskEXT", "TaskNV"), "task"),
    Stage("mesh", ("MeshEXT", "MeshNV"), "mesh"),
    Stage("raygen", ("RayGenerationKHR", "RayGenerationNV"), "rgen"),
    Stage("any_hit", ("AnyHitKHR", "AnyHitNV"), "rahit"),
    Stage("closest_hit", ("ClosestHitKHR", "ClosestHitNV"), "rchit"),
    Stage("miss", ("MissKHR", "MissNV"), "rmiss"),
    Stage("intersection", ("IntersectionKHR", "IntersectionNV"), "rint"),
    Stage("callable", ("CallableKHR", "CallableNV"), "rcall"),
)

#: Stage by name and by suffix.
STAGE_NAMES: dict[str, Stage] = {key: stage for stage in STAGES for key in (stage.name, stage.suffix)}

#: Stage by SPIR-V execution model.
EXECUTION_MODELS: dict[str, Stage] = {model: stage for stage in STAGES for model in stage.execution_models}
