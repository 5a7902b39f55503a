"""The table of stages against the SPIR-V grammar, the Vulkan headers and the compilers."""

from __future__ import annotations

import pytest

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.device import vk
from vkgroup.spec.features import STRUCTS
from vkgroup.spec.stages import STAGES
from vkgroup.spirv import grammar

SOURCES = {
    "tessellation_control": "layout(vertices = 1) out; void main() {}",
    "tessellation_evaluation": "layout(triangles) in; void main() {}",
    "geometry": "layout(points) in; layout(points, max_vertices = 1) out; void main() {}",
    "task": "#extension GL_EXT_mesh_shader : require\nvoid main() { EmitMeshTasksEXT(1, 1, 1); }",
    "mesh": (
        "#extension GL_EXT_mesh_shader : require\n"
        "layout(points, max_vertices = 1, max_primitives = 1) out; void main() {}"
    ),
}


def source(stage) -> str:
    """Return the smallest shader of a stage."""
    head = "#extension GL_EXT_ray_tracing : require\n" if "rayTracingPipeline" in stage.features else ""
    return f"#version 460\n{head}{SOURCES.get(stage.name, 'void main() {}')}"


def test_every_stage_of_the_headers_is_in_the_table_with_its_bit() -> None:
    headers = vk.ffi.typeof("VkShaderStageFlagBits").relements
    vendors = ("_NV", "_HUAWEI", "_ALL", "_GRAPHICS", "_MAX_ENUM")
    expected = {
        name.removeprefix("VK_SHADER_STAGE_").partition("_BIT")[0].lower(): bit
        for name, bit in headers.items()
        if not name.endswith(vendors)
    }
    assert {stage.name: stage.bit for stage in STAGES} == expected


def test_every_execution_model_of_the_grammar_has_a_stage() -> None:
    models = {model for stage in STAGES for model in stage.execution_models}
    known = set(grammar().enumeration("ExecutionModel").values())
    # The grammar names the models of NV_ray_tracing by their KHR names.
    assert known <= models
    assert models - known == {
        f"{name}NV" for name in ("RayGeneration", "AnyHit", "ClosestHit", "Miss", "Intersection", "Callable")
    }


def test_the_features_of_the_stages_are_features_of_vulkan() -> None:
    structs = {field for struct in STRUCTS for field in struct.fields or ()}
    for struct in STRUCTS:
        if struct.fields is None:
            structs |= {name for name, _ in vk.ffi.typeof(struct.name).fields}
    structs |= {name for name, _ in vk.ffi.typeof("VkPhysicalDeviceFeatures").fields}
    for stage in STAGES:
        assert {*stage.features, *filter(None, [stage.store_feature])} <= structs


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_glslang_takes_its_number_for_the_stage(stage) -> None:
    module = compile_source(source(stage), stage=stage.name, target=TargetEnvironment.VULKAN_1_2, cache=False)
    assert module.reflection.entry_points[0].stage == stage.name
