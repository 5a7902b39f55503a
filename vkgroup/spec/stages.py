"""The fourteen shader stages, one row each.

Numbers and execution models are from `vkgroup.spec.registry`; the numbers of shaderc, which has no installed
header, and the features are written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from vkgroup.spec import registry


class PipelineKind(Enum):
    """The kind of pipeline that a stage is part of."""

    COMPUTE = "compute"
    PRIMITIVES = "primitives"
    MESHES = "meshes"
    RAYS = "rays"


@dataclass(frozen=True)
class Stage:
    """A shader stage."""

    name: str  # Vulkan's name (`VkShaderStageFlagBits`) in lower case, without prefix and vendor
    bit: int  # its value in `VkShaderStageFlagBits`
    execution_models: tuple[str, ...]  # its names in SPIR-V, that of the KHR or EXT extension first
    suffix: str  # the suffix of GLSL files, without the dot
    glslang: int  # its number in `glslang_stage_t`
    shaderc: int  # its number in `shaderc_shader_kind`
    pipelines: tuple[PipelineKind, ...]  # the kinds of pipeline that have it; fragment shaders are in two
    since: tuple[int, int] = (1, 0)  # the SPIR-V version that its extension needs
    features: tuple[str, ...] = ()  # Vulkan features that it needs, in addition to `store_feature`
    #: The Vulkan feature that lets it write to buffers and images; "" if it needs none.
    store_feature: str = ""
    workgroups: bool = False  # whether its invocations form workgroups
    quads: bool = False  # whether it has quad operations without `quadOperationsInAllStages`
    khronos: str = ""  # its name in test names of VK-GL-CTS; "" if they do not name this stage


_PRIMITIVE_STORES = "vertexPipelineStoresAndAtomics"
_POINT_SIZE = "shaderTessellationAndGeometryPointSize"


def _stage(name: str, suffix: str, shaderc: int, *pipelines: PipelineKind, **columns: Any) -> Stage:
    """Return the row of a stage in the registry files."""
    bit, glslang, models = registry.STAGES[name]
    return Stage(name, bit, models, suffix, glslang, shaderc, pipelines, **columns)


def _primitive(name: str, suffix: str, shaderc: int, khronos: str, *features: str) -> Stage:
    columns = {"features": features, "store_feature": _PRIMITIVE_STORES, "khronos": khronos}
    return _stage(name, suffix, shaderc, PipelineKind.PRIMITIVES, **columns)


def _mesh(name: str, shaderc: int, *features: str) -> Stage:
    columns = {"features": features, "workgroups": True, "khronos": name}
    return _stage(name, name, shaderc, PipelineKind.MESHES, since=(1, 4), **columns)


def _ray(name: str, suffix: str, shaderc: int) -> Stage:
    features = ("rayTracingPipeline", "accelerationStructure")
    return _stage(name, suffix, shaderc, PipelineKind.RAYS, since=(1, 4), features=features)


STAGES: tuple[Stage, ...] = (
    _primitive("vertex", "vert", 0, "vertex"),
    _primitive("tessellation_control", "tesc", 4, "tess_control", "tessellationShader", _POINT_SIZE),
    _primitive("tessellation_evaluation", "tese", 5, "tess_eval", "tessellationShader", _POINT_SIZE),
    _primitive("geometry", "geom", 3, "geometry", "geometryShader", _POINT_SIZE),
    _stage(
        "fragment",
        "frag",
        1,
        PipelineKind.PRIMITIVES,
        PipelineKind.MESHES,
        store_feature="fragmentStoresAndAtomics",
        quads=True,
        khronos="fragment",
    ),
    _stage("compute", "comp", 2, PipelineKind.COMPUTE, workgroups=True, quads=True),
    _mesh("task", 26, "taskShader", "meshShader"),
    _mesh("mesh", 27, "meshShader"),
    _ray("raygen", "rgen", 14),
    _ray("any_hit", "rahit", 15),
    _ray("closest_hit", "rchit", 16),
    _ray("miss", "rmiss", 17),
    _ray("intersection", "rint", 18),
    _ray("callable", "rcall", 19),
)
"""Every stage, in the order of the bits of `VkShaderStageFlagBits`."""

STAGE_NAMES: dict[str, Stage] = {key: stage for stage in STAGES for key in (stage.name, stage.suffix)}
"""Stages by name and by suffix."""

EXECUTION_MODELS: dict[str, Stage] = {model: stage for stage in STAGES for model in stage.execution_models}
"""Stages by SPIR-V execution model."""

STAGE_BITS: dict[str, int] = {stage.name: stage.bit for stage in STAGES}
"""Bits of `VkShaderStageFlagBits` by the stage's name."""


def stages_of(pipeline: PipelineKind) -> tuple[str, ...]:
    """Return the names of the stages of a kind of pipeline."""
    return tuple(stage.name for stage in STAGES if pipeline in stage.pipelines)


PRIMITIVE_STAGES = stages_of(PipelineKind.PRIMITIVES)
"""Stages of a pipeline that begins with a vertex shader."""

RAY_STAGES = stages_of(PipelineKind.RAYS)
"""Stages of ray tracing."""

WORKGROUP_STAGES = tuple(stage.name for stage in STAGES if stage.workgroups)
"""Stages with workgroups: compute shaders, and those that GLSL_EXT_mesh_shader adds."""

QUAD_STAGES = tuple(stage.name for stage in STAGES if stage.quads)
"""Stages with quad operations on every device that has them; the others need `quadOperationsInAllStages`
(Vulkan 1.4, VkPhysicalDeviceSubgroupProperties)."""
