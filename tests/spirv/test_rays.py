"""Reflection of the stages of ray tracing."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import compile_source
from vkgroup.spec.stages import RAY_STAGES
from vkgroup.spirv import Module
from vkgroup.spirv.types import OpaqueType, ScalarType, StructType, VectorType

HEAD = "#version 460\n#extension GL_EXT_ray_tracing : require\n"
UINT, FLOAT = ScalarType("uint", 32), ScalarType("float", 32)

RAYGEN = (
    HEAD
    + """layout(set = 2, binding = 5) uniform accelerationStructureEXT scene;
layout(set = 0, binding = 1) uniform accelerationStructureEXT scenes[3];
layout(constant_id = 1) const uint MISS = 4u;
layout(location = 0) rayPayloadEXT uvec2 one;
struct Two { uint number; vec3 color; };
layout(location = 1) rayPayloadEXT Two two;
layout(location = 0) callableDataEXT float called;
void main() {
    traceRayEXT(scene, 0u, 0xFFu, 2u, 3u, MISS + 1u, vec3(0.0), 0.0, vec3(1.0), 1.0, 0);
    traceRayEXT(scenes[1], 0u, 0xFFu, gl_LaunchIDEXT.x, 0u, 0u, vec3(0.0), 0.0, vec3(1.0), 1.0, 1);
    executeCallableEXT(6u, 0);
    executeCallableEXT(gl_LaunchIDEXT.y, 0);
}"""
)


def _module(source: str, stage: str) -> Module:
    return compile_source(source, stage=stage)


def test_rays_and_callables_of_a_shader() -> None:
    reflection = _module(RAYGEN, "raygen").reflection
    assert reflection.entry_point().stage == "raygen"
    first, second = reflection.rays.traces
    assert (first.structure, second.structure) == ((2, 5), None)
    numbers = (first.record_offset, first.record_stride, first.miss_index)
    assert [number and number.evaluate({1: 9}) for number in numbers] == [2, 3, 10]
    assert second.record_offset is None
    assert first.payload == VectorType(UINT, 2)
    assert isinstance(second.payload, StructType)
    assert [member.type for member in second.payload.members] == [UINT, VectorType(FLOAT, 3)]
    known, unknown = reflection.rays.calls
    assert known.index is not None
    assert known.index.evaluate() == 6
    assert unknown.index is None
    assert known.data == unknown.data == FLOAT
    assert (reflection.rays.payload, reflection.rays.attribute, reflection.rays.attribute_size) == (
        None,
        None,
        0,
    )


def test_acceleration_structures_are_bindings() -> None:
    result = {binding.name: binding for binding in _module(RAYGEN, "raygen").reflection.bindings}
    scene, scenes = result["scene"], result["scenes"]
    assert {scene.kind, scenes.kind} == {"acceleration_structure"}
    assert scene.type == OpaqueType("accelerationStructureEXT")
    assert ((scene.set, scene.binding), (scene.count, scenes.count)) == ((2, 5), (1, 3))
    assert (scene.read, scene.writable, scene.written) == (True, False, False)


@pytest.mark.parametrize(
    ("stage", "declaration", "payload", "data", "attribute", "size"),
    [
        ("miss", "layout(location = 0) rayPayloadInEXT uint p;", UINT, None, None, 0),
        ("closest_hit", "layout(location = 0) rayPayloadInEXT vec3 p;", VectorType(FLOAT, 3), None, None, 0),
        ("any_hit", "hitAttributeEXT vec2 a;", None, None, VectorType(FLOAT, 2), 8),
        ("callable", "layout(location = 0) callableDataInEXT uint d;", None, UINT, None, 0),
        ("intersection", "hitAttributeEXT float a;", None, None, FLOAT, 4),
    ],
)
def test_what_a_shader_is_started_with(
    stage: str, declaration: str, payload: object, data: object, attribute: object, size: int
) -> None:
    name = declaration.split()[-1].strip(";")
    use = f"if ({name}.x < 0.5) ignoreIntersectionEXT;" if stage == "any_hit" else f"{name} = {name};"
    rays = _module(f"{HEAD}{declaration}\nvoid main() {{ {use} }}", stage).reflection.rays
    assert (rays.payload, rays.callable_data, rays.attribute) == (payload, data, attribute)
    assert rays.attribute_size == size
    assert not rays.has_record


def test_sizes_of_attributes() -> None:
    source = (
        f"{HEAD}struct S {{ mat3x2 m; float f[3]; }};\nhitAttributeEXT S a;\nvoid main() {{ a.f[1] = 1.0; }}"
    )
    assert _module(source, "intersection").reflection.rays.attribute_size == 4 * (6 + 3)


def test_shader_records_are_seen() -> None:
    source = f"{HEAD}layout(shaderRecordEXT) buffer R {{ uint r; }};\n"
    source += "layout(location = 0) rayPayloadInEXT uint p; void main() { p = r; }"
    reflection = _module(source, "miss").reflection
    assert reflection.rays.has_record
    assert reflection.bindings == ()


@pytest.mark.parametrize("stage", RAY_STAGES)
def test_ray_tracing_needs_spirv_1_4(stage: str) -> None:
    """A module for Vulkan 1.1 is of the version that the stage needs; without payloads any stage is valid."""
    module = compile_source(f"{HEAD}void main() {{}}", stage=stage, target="1.1")
    assert module.version == (1, 4)
    assert module.reflection.entry_point().stage == stage
    assert module.reflection.rays.traces == ()


def test_damaged_instructions_are_refused() -> None:
    module = _module(RAYGEN, "raygen")
    trace = next(one for one in module.instructions if one.name == "OpTraceRayKHR")
    words = module.words.copy()
    # The instruction ends after its first operand; what is left becomes OpNop, an instruction of one word.
    length = int(words[trace.position]) >> 16
    words[trace.position] = 2 << 16 | trace.opcode
    words[trace.position + 2 : trace.position + length] = 1 << 16
    with pytest.raises(InvalidModule, match=r"OpTraceRayKHR at word .* has 2 words"):
        _ = Module.from_bytes(words.tobytes()).reflection
