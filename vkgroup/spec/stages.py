"""The fourteen shader stages, one row each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Pipeline(Enum):
    """The kind of pipeline that a stage is part of."""

    COMPUTE = "compute"
    PRIMITIVES = "primitives"
    MESHES = "meshes"
    RAYS = "rays"


@dataclass(frozen=True)
class Stage:
    """A shader stage.

    Attributes
    ----------
    name : Vulkan's name (`VkShaderStageFlagBits`) in lower case, without prefix and vendor.
    bit : its value in `VkShaderStageFlagBits`.
    execution_models : SPIR-V's names of it; the first is the one of the KHR or EXT extension.
    suffix : the end of a GLSL file's name, without the dot.
    glslang : its number in `glslang_stage_t`.
    shaderc : its number in `shaderc_shader_kind`.
    pipelines : the kinds of pipeline that have it; fragment shaders are in two.
    since : the SPIR-V version that its extension needs.
    features : Vulkan features that it needs, beside `store_feature`.
    store_feature : the Vulkan feature with which it may write to buffers and images; "" where none is needed.
    workgroups : whether its invocations form workgroups.
    quads : whether it has quad operations without `quadOperationsInAllStages`.
    khronos : its name in test names of VK-GL-CTS, where these name single stages; else "".
    """

    name: str
    bit: int
    execution_models: tuple[str, ...]
    suffix: str
    glslang: int
    shaderc: int
    pipelines: tuple[Pipeline, ...]
    since: tuple[int, int] = (1, 0)
    features: tuple[str, ...] = ()
    store_feature: str = ""
    workgroups: bool = False
    quads: bool = False
    khronos: str = ""


_PRIMITIVE_STORES = "vertexPipelineStoresAndAtomics"


def _tessellation(half: str, bit: int, suffix: str, glslang: int, shaderc: int, khronos: str) -> Stage:
    return Stage(
        f"tessellation_{half}",
        bit,
        (f"Tessellation{half.capitalize()}",),
        suffix,
        glslang,
        shaderc,
        (Pipeline.PRIMITIVES,),
        features=("tessellationShader", "shaderTessellationAndGeometryPointSize"),
        store_feature=_PRIMITIVE_STORES,
        khronos=khronos,
    )


def _mesh(name: str, bit: int, glslang: int, shaderc: int, features: tuple[str, ...]) -> Stage:
    model = name.capitalize()
    return Stage(
        name,
        bit,
        (f"{model}EXT", f"{model}NV"),
        name,
        glslang,
        shaderc,
        (Pipeline.MESHES,),
        (1, 4),
        features,
        workgroups=True,
        khronos=name,
    )


def _ray(name: str, bit: int, model: str, suffix: str, glslang: int, shaderc: int) -> Stage:
    return Stage(
        name,
        bit,
        (f"{model}KHR", f"{model}NV"),
        suffix,
        glslang,
        shaderc,
        (Pipeline.RAYS,),
        (1, 4),
        ("rayTracingPipeline", "accelerationStructure"),
    )


STAGES: tuple[Stage, ...] = (
    Stage(
        "vertex",
        0x1,
        ("Vertex",),
        "vert",
        glslang=0,
        shaderc=0,
        pipelines=(Pipeline.PRIMITIVES,),
        store_feature=_PRIMITIVE_STORES,
        khronos="vertex",
    ),
    _tessellation("control", 0x2, "tesc", 1, 4, "tess_control"),
    _tessellation("evaluation", 0x4, "tese", 2, 5, "tess_eval"),
    Stage(
        "geometry",
        0x8,
        ("Geometry",),
        "geom",
        glslang=3,
        shaderc=3,
        pipelines=(Pipeline.PRIMITIVES,),
        features=("geometryShader", "shaderTessellationAndGeometryPointSize"),
        store_feature=_PRIMITIVE_STORES,
        khronos="geometry",
    ),
    Stage(
        "fragment",
        0x10,
        ("Fragment",),
        "frag",
        glslang=4,
        shaderc=1,
        pipelines=(Pipeline.PRIMITIVES, Pipeline.MESHES),
        store_feature="fragmentStoresAndAtomics",
        quads=True,
        khronos="fragment",
    ),
    Stage(
        "compute",
        0x20,
        ("GLCompute", "Kernel"),
        "comp",
        glslang=5,
        shaderc=2,
        pipelines=(Pipeline.COMPUTE,),
        workgroups=True,
        quads=True,
    ),
    _mesh("task", 0x40, 12, 26, ("taskShader", "meshShader")),
    _mesh("mesh", 0x80, 13, 27, ("meshShader",)),
    _ray("raygen", 0x100, "RayGeneration", "rgen", 6, 14),
    _ray("any_hit", 0x200, "AnyHit", "rahit", 8, 15),
    _ray("closest_hit", 0x400, "ClosestHit", "rchit", 9, 16),
    _ray("miss", 0x800, "Miss", "rmiss", 10, 17),
    _ray("intersection", 0x1000, "Intersection", "rint", 7, 18),
    _ray("callable", 0x2000, "Callable", "rcall", 11, 19),
)
"""Every stage, in the order of the bits of `VkShaderStageFlagBits`."""

STAGE_NAMES: dict[str, Stage] = {key: stage for stage in STAGES for key in (stage.name, stage.suffix)}
"""Stages by name and by suffix."""

EXECUTION_MODELS: dict[str, Stage] = {model: stage for stage in STAGES for model in stage.execution_models}
"""Stages by SPIR-V execution model."""

STAGE_BITS: dict[str, int] = {stage.name: stage.bit for stage in STAGES}
"""Bits of `VkShaderStageFlagBits` by the stage's name."""


def stages_of(pipeline: Pipeline) -> tuple[str, ...]:
    """Return the names of the stages of a kind of pipeline."""
    return tuple(stage.name for stage in STAGES if pipeline in stage.pipelines)


PRIMITIVE_STAGES = stages_of(Pipeline.PRIMITIVES)
"""Stages of a pipeline that begins with a vertex shader."""

RAY_STAGES = stages_of(Pipeline.RAYS)
"""Stages of ray tracing."""

WORKGROUP_STAGES = tuple(stage.name for stage in STAGES if stage.workgroups)
"""Stages with workgroups: compute shaders, and those that GLSL_EXT_mesh_shader adds."""

QUAD_STAGES = tuple(stage.name for stage in STAGES if stage.quads)
"""Stages with quad operations on every device that has them; the others need `quadOperationsInAllStages`
(Vulkan 1.4, VkPhysicalDeviceSubgroupProperties)."""
