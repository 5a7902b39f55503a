"""Features of the reference device: for each declared one a module that needs it, and its result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

import vkgroup
from vkgroup.device import requirements
from vkgroup.dispatch import Device
from vkgroup.spec.needs import CAPABILITIES, SPIRV_EXTENSIONS
from vkgroup.spirv import Module

LANES = 32


@dataclass(frozen=True)
class Use:
    """A shader that works only where the device has a feature, and does it right.

    `body` sets `ok` from `i`, the invocation; binding 1 holds 0, 1, 2… where `declarations` has it.
    """

    name: str
    body: str
    extensions: str = ""
    declarations: str = ""


def storage(bits: int) -> str:
    return f"GL_EXT_shader_explicit_arithmetic_types_int{bits} GL_EXT_shader_{bits}bit_storage"


def block(kind: str, bits: int) -> str:
    members = f"uint{bits}_t small[{128 // bits}];"
    if kind == "push":
        return f"layout(push_constant) uniform Push {{ {members} }};"
    storage_class = "buffer" if kind == "buffer" else "uniform"
    layout = "std430, " if kind == "buffer" else ""
    if kind == "uniform":
        members = f"uint{bits}_t small; "
    return f"layout({layout}binding = 1) {storage_class} Data {{ {members} }};"


def mixed_dot(bits: int) -> Use:
    """Return the use of a dot product of float16 that adds to a float of so many bits."""
    capability, opcode = {32: (6912, 6916), 16: (6913, 6917)}[bits]
    return Use(
        f"shaderMixedFloatDotProductFloat16AccFloat{bits}",
        f"ok = dot2(f16vec2(i, 3), f16vec2(2, 4), float{bits}_t(5)) == float{bits}_t(2u * i + 17u);",
        "GL_EXT_spirv_intrinsics GL_EXT_shader_explicit_arithmetic_types_float16"
        " GL_EXT_shader_explicit_arithmetic_types_float32",
        'spirv_instruction(extensions = ["SPV_VALVE_mixed_float_dot_product"],'
        f" capabilities = [{capability}], id = {opcode})"
        f" float{bits}_t dot2(f16vec2 x, f16vec2 y, float{bits}_t sum);",
    )


def instruction(name: str, extension: str, capability: int, opcode: int, text: str, more: str = "") -> Use:
    """An instruction that GLSL does not have; `text`: its declaration, then what sets `ok`."""
    declared, _, body = text.partition("; ")
    head = f'extensions = ["{extension}"], capabilities = [{capability}], id = {opcode}'
    return Use(name, body, f"GL_EXT_spirv_intrinsics {more}", f"spirv_instruction({head}) {declared};")


def fused(bits: int) -> Use:
    kind = _SCALARS[bits]
    declared = f"{kind} fused({kind} x, {kind} y, {kind} z)"
    body = f"ok = fused({kind}(i), {kind}(2), {kind}(3)) == {kind}(2u * i + 3u);"
    name, more = f"shaderFmaFloat{bits}", _EXPLICIT[bits]
    return instruction(name, "SPV_KHR_fma", 6030, 4427, f"{declared}; {body}", more)


def split_barrier() -> Use:
    """Arrival and wait of the workgroup, which release and acquire shared memory."""
    start = 'spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = '
    return Use(
        "shaderSplitBarrier",
        "part[i] = i; arrive(2u, 2u, 0x104u); wait(2u, 2u, 0x102u); ok = part[i ^ 1u] == (i ^ 1u);",
        "GL_EXT_spirv_intrinsics",
        f"{start}6142) void arrive(uint execution, uint memory, uint semantics);"
        f" {start}6143) void wait(uint execution, uint memory, uint semantics);"
        f" shared uint part[{LANES}];",
    )


def explicit_layout(bits: int) -> Use:
    """Shared memory that is written as words and read as smaller numbers."""
    name = {32: "", 16: "16BitAccess", 8: "8BitAccess"}[bits]
    kind = {32: "float", 16: "uint16_t", 8: "uint8_t"}[bits]
    value = "uintBitsToFloat(0x3f800000u + i)" if bits == 32 else f"{kind}(i & 0xffu)"
    return Use(
        f"workgroupMemoryExplicitLayout{name}",
        f"words[i] = {'0x3f800000u + i' if bits == 32 else 'i & 0xffu'}; barrier();"
        f" ok = parts[i * {32 // bits}u] == {value};",
        "GL_EXT_shared_memory_block"
        + ("" if bits == 32 else f" GL_EXT_shader_explicit_arithmetic_types_int{bits}"),
        f"shared Words {{ uint words[{LANES}]; }}; shared Parts {{ {kind} parts[{LANES * 32 // bits}]; }};",
    )


def reads(kind: str, bits: int) -> Use:
    name = {
        "buffer": f"storageBuffer{bits}BitAccess",
        "uniform": f"uniformAndStorageBuffer{bits}BitAccess",
        "push": f"storagePushConstant{bits}",
    }[kind]
    place = "small" if kind == "uniform" else f"small[i % {128 // bits}u]"
    value = (
        "0u"
        if kind == "uniform"
        else f"(i % {128 // bits}u) % {32 // bits}u == 0u ? (i % {128 // bits}u) / {32 // bits}u : 0u"
    )
    return Use(name, f"ok = uint({place}) == ({value});", storage(bits), block(kind, bits))


FLOAT_ATOMICS = "GL_EXT_shader_atomic_float GL_EXT_shader_atomic_float2"
_EXPLICIT = {
    16: "GL_EXT_shader_explicit_arithmetic_types_float16 GL_EXT_shader_16bit_storage",
    32: "",
    64: "",
}
_SCALARS = {16: "float16_t", 32: "float", 64: "double"}


def float_atomic(memory: str, bits: int, operation: str) -> Use:
    scalar = _SCALARS[bits]
    extensions = f"{FLOAT_ATOMICS} {_EXPLICIT[bits]}"
    suffix = {"Add": "AtomicAdd", "Max": "AtomicMinMax"}[operation]
    expected = {"Add": LANES, "Max": LANES - 1}[operation]
    argument = {"Add": "1", "Max": "i"}[operation]
    if memory == "Image":
        declarations = "layout(binding = 1, r32f) uniform image2D picture;"
        act = f"imageAtomic{operation}(picture, ivec2(0), float({argument}));"
        value = "imageLoad(picture, ivec2(0)).x"
        return Use(
            f"shaderImageFloat32{suffix}",
            f"{act} memoryBarrier(); barrier(); ok = {value} == float({expected});",
            extensions,
            declarations,
        )
    declarations = (
        f"shared {scalar} number;"
        if memory == "Shared"
        else f"layout(binding = 1) buffer Data {{ {scalar} number; uint rest[]; }};"
    )
    body = f"""
        if (i == 0u) number = {scalar}(0);
        memoryBarrier(); barrier();
        atomic{operation}(number, {scalar}({argument}));
        memoryBarrier(); barrier();
        ok = number == {scalar}({expected});"""
    return Use(f"shader{memory}Float{bits}{suffix}", body, extensions, declarations)


def array_of(kind: str, *, uniform: bool) -> Use:
    """An array of descriptors, indexed by what only the device knows."""
    index = "words[1] + i % 2u"
    nonuniform = "" if uniform else "nonuniformEXT"
    declarations = "layout(binding = 1) buffer Data { uint words[]; };"
    more = {
        "UniformBuffer": ("layout(binding = 2) uniform U { uvec4 u; } many[3];", "many[{}].u.x"),
        "StorageBuffer": ("layout(binding = 2) buffer S { uint u[]; } many[3];", "many[{}].u[0]"),
        "StorageImage": (
            "layout(binding = 2, r32ui) uniform uimage2D many[3];",
            "imageLoad(many[{}], ivec2(0)).x",
        ),
    }[kind]
    if uniform:
        index = "words[1]"
    expected = "11u" if uniform else "11u + i % 2u"
    name = f"shader{kind}Array" + ("DynamicIndexing" if uniform else "NonUniformIndexing")
    return Use(
        name,
        f"ok = {more[1].format(f'{nonuniform}({index})')} == {expected};",
        "" if uniform else "GL_EXT_nonuniform_qualifier",
        f"{declarations}\n{more[0]}",
    )


INT64_ATOMIC = """
    if (i == 0u) total = 0ul;
    memoryBarrier(); barrier();
    atomicAdd(total, 1ul << 40);
    memoryBarrier(); barrier();
    ok = total == (uint64_t(32) << 40);"""
INT64 = "GL_EXT_shader_explicit_arithmetic_types_int64"
SUBGROUP = "GL_KHR_shader_subgroup_basic GL_KHR_shader_subgroup_ballot"

USES = [
    Use("shaderInt8", "uint8_t v = uint8_t(i + 250u); v += uint8_t(10); ok = uint(v) == ((i + 260u) & 255u);",
        "GL_EXT_shader_explicit_arithmetic_types_int8"),
    Use("shaderInt16", "uint16_t v = uint16_t(i) * uint16_t(3000); ok = uint(v) == ((i * 3000u) & 65535u);",
        "GL_EXT_shader_explicit_arithmetic_types_int16"),
    Use("shaderInt64", "uint64_t v = uint64_t(i) << 40; ok = uint(v >> 40) == i;", INT64),
    Use("shaderFloat16", "float16_t v = float16_t(i) + float16_t(0.5); ok = float(v) == float(i) + 0.5;",
        "GL_EXT_shader_explicit_arithmetic_types_float16"),
    Use("shaderSubgroupClock", "uvec2 a = clock2x32ARB(), b = clock2x32ARB(); ok = b.x >= a.x && b.y >= a.y;",
        "GL_ARB_shader_clock"),
    Use("shaderDeviceClock", "uvec2 a = clockRealtime2x32EXT(); ok = clockRealtime2x32EXT().x >= a.x;",
        "GL_EXT_shader_realtime_clock"),
    Use("shaderIntegerDotProduct", "ok = dot4(uvec4(i, 1u, 2u, 3u), uvec4(2u, 5u, 1u, i)) == 5u * i + 7u;",
        "GL_EXT_spirv_intrinsics",
        'spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6016, 6019],'
        " id = 4451) uint dot4(uvec4 a, uvec4 b);"),
    *(mixed_dot(bits) for bits in (32, 16)),
    Use("shaderFloat64", "double v = double(i) / 3.0LF; ok = v * 3.0LF == double(i);"),
    *(reads(kind, bits) for kind in ("buffer", "uniform", "push") for bits in (8, 16)),
    Use("scalarBlockLayout", "ok = rows[i % 4u].y == 3u * (i % 4u) + 1u;", "GL_EXT_scalar_block_layout",
        "layout(scalar, binding = 1) buffer Data { uvec3 rows[]; };"),
    Use("uniformBufferStandardLayout", "ok = row[i % 8u] == i % 8u;", "GL_EXT_scalar_block_layout",
        "layout(std430, binding = 1) uniform Data { uint row[8]; };"),
    Use("vulkanMemoryModel", """
        atomicStore(words[i], i + 5u, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
        controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer,
                       gl_SemanticsAcquireRelease);
        ok = atomicLoad(words[i ^ 1u], gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquire)
            == (i ^ 1u) + 5u;""",
        "GL_KHR_memory_scope_semantics", "layout(binding = 1) buffer Data { uint words[]; };"),
    Use("maintenance4", "ok = gl_WorkGroupSize.x == 32u;"),
    Use("subgroupBroadcastDynamicId", "ok = subgroupBroadcast(i, words[3] - 1u) == 2u;", SUBGROUP,
        "layout(binding = 1) buffer Data { uint words[]; };"),
    Use("shaderSubgroupExtendedTypes", "ok = subgroupBroadcast(uint16_t(i), 4u) == uint16_t(4);",
        f"{SUBGROUP} GL_EXT_shader_subgroup_extended_types_int16"),
    Use("shaderSubgroupRotate", "ok = rotate(3u, i, 3u) == (i + 3u) % 32u;",
        f"{SUBGROUP} GL_EXT_spirv_intrinsics",
        'spirv_instruction(extensions = ["SPV_KHR_subgroup_rotate"], capabilities = [6026], id = 4431)\n'
        "uint rotate(uint scope, uint value, uint delta);"),
    Use("shaderSubgroupRotateClustered", "ok = rotate(3u, i, 1u, 4u) == i / 4u * 4u + (i + 1u) % 4u;",
        f"{SUBGROUP} GL_EXT_spirv_intrinsics",
        'spirv_instruction(extensions = ["SPV_KHR_subgroup_rotate"], capabilities = [6026], id = 4431)\n'
        "uint rotate(uint scope, uint value, uint delta, uint cluster);"),
    Use("shaderMaximalReconvergence", "if (i < 7u) ok = subgroupBallot(true).x == 127u; else ok = true;",
        f"{SUBGROUP} GL_EXT_spirv_intrinsics",
        'spirv_execution_mode(extensions = ["SPV_KHR_maximal_reconvergence"], 6023);'),
    Use("shaderSubgroupUniformControlFlow", "ok = subgroupBallot(i < 3u).x == 7u;",
        f"{SUBGROUP} GL_EXT_subgroup_uniform_control_flow"),
    Use("shaderBufferInt64Atomics", INT64_ATOMIC, f"{INT64} GL_EXT_shader_atomic_int64",
        "layout(binding = 1) buffer Data { uint64_t total; uint rest[]; };"),
    Use("shaderImageInt64Atomics", """
        imageAtomicAdd(picture, ivec2(0), 1ul << 40);
        memoryBarrier(); barrier();
        ok = imageLoad(picture, ivec2(0)).x == (uint64_t(32) << 40);""",
        f"{INT64} GL_EXT_shader_image_int64",
        "layout(binding = 1, r64ui) uniform u64image2D picture;"),
    Use("shaderSharedInt64Atomics", INT64_ATOMIC, f"{INT64} GL_EXT_shader_atomic_int64",
        "shared uint64_t total;"),
    *(
        float_atomic(memory, bits, operation)
        for memory in ("Buffer", "Shared", "Image")
        for bits in (16, 32, 64)
        for operation in ("Add", "Max")
        if memory != "Image" or bits == 32
    ),
    *(
        array_of(kind, uniform=uniform)
        for kind in ("UniformBuffer", "StorageBuffer", "StorageImage")
        for uniform in (False, True)
    ),
    Use("shaderStorageImageReadWithoutFormat", "ok = imageLoad(picture, ivec2(1, 0)).x == 1u;",
        "GL_EXT_shader_image_load_formatted", "layout(binding = 1) uniform readonly uimage2D picture;"),
    Use("shaderStorageImageWriteWithoutFormat", "imageStore(picture, ivec2(i, 0), uvec4(i)); ok = true;", "",
        "layout(binding = 1) uniform writeonly uimage2D picture;"),
    Use("shaderStorageImageExtendedFormats", "ok = imageLoad(picture, ivec2(3, 0)).x == 0u;", "",
        "layout(binding = 1, r8ui) uniform uimage2D picture;"),
    split_barrier(),
    *map(explicit_layout, (32, 16, 8)),
    instruction("shaderReplicatedComposites", "SPV_EXT_replicated_composites", 6024, 4463,
        "uvec3 replicate(uint x); ok = replicate(i) == uvec3(i);"),
    *map(fused, (16, 32, 64)),
]  # fmt: skip


@pytest.fixture(scope="module")
def reference() -> Iterator[Device]:
    with vkgroup.open("reference") as opened:
        yield opened


def module_of(device: Device, use: Use) -> Module:
    extensions = "\n".join(f"#extension {name} : require" for name in use.extensions.split())
    pragma = {
        "vulkanMemoryModel": "#pragma use_vulkan_memory_model",
    }.get(use.name, "")
    attribute = {
        "shaderSubgroupUniformControlFlow": "[[subgroup_uniform_control_flow]]",
    }.get(use.name, "")
    local = "local_size_x_id = 0" if use.name == "maintenance4" else f"local_size_x = {LANES}"
    source = f"""#version 460
{extensions}
{pragma}
layout({local}) in;
layout(binding = 0) buffer Result {{ uint good[]; }} result;
{use.declarations}
void main() {attribute} {{
    uint i = gl_LocalInvocationIndex;
    bool ok = false;
    {use.body}
    result.good[i] = ok ? 1u : 0u;
}}"""
    if attribute:
        source = source.replace(f"void main() {attribute}", f"void main()\n{attribute}")
    return device.compile(source, target="1.3")  # LocalSizeId, of maintenance4, needs SPIR-V 1.6


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_a_feature_does_what_it_says(reference: Device, use: Use) -> None:
    module = module_of(reference, use)
    bare = replace(
        reference.capabilities,
        api_version=(1, 1, 0),
        features=frozenset(),
        extensions={"VK_KHR_spirv_1_4": 1},
    )
    needs = " ".join(requirements.missing(module, bare))
    assert use.name in needs or use.name.endswith("DynamicIndexing"), "glslang does not declare that"
    result = reference.run(
        module,
        1,
        bindings_of(reference, module),
        push=np.arange(4, dtype=np.uint32).tobytes() if module.reflection.push_constants else None,
        specialization={0: LANES} if use.name == "maintenance4" else None,
    )
    assert result["good"].tolist() == [1] * LANES


DTYPES = {"R32f": np.float32, "R8ui": np.uint8, "R64ui": np.uint64}


def bindings_of(device: Device, module: Module) -> dict[int, object]:
    """Give the result zeros, the data 0, 1, 2…, and each of an array of descriptors its number plus ten."""
    found: dict[int, object] = {0: np.zeros(LANES, np.uint32)}
    for binding in module.reflection.bindings:
        image = binding.kind == "storage_image"
        dtype = DTYPES.get(binding.type.format, np.uint32) if image else np.uint32
        if binding.binding == 1:
            texels = np.arange(LANES) if dtype == np.uint32 else np.zeros(LANES)
            found[1] = (
                texels.astype(dtype).reshape(1, LANES)
                if image
                else device.buffer(np.arange(64, dtype=np.uint32))
            )
        elif binding.binding == 2:
            found[2] = [np.full((1, 4) if image else 4, 10 + number, np.uint32) for number in range(3)]
    return found


def test_every_declared_feature_that_a_module_may_need_is_tried(reference: Device) -> None:
    tables = (*CAPABILITIES.values(), *SPIRV_EXTENSIONS.values())
    known = {need for needs in tables for need in needs.split("|")} | {"scalarBlockLayout", "maintenance4"}
    declared = reference.capabilities.features & known
    elsewhere = {name for name in declared if "Sampled" in name or "Texel" in name or "Gather" in name}
    elsewhere |= {"imageCubeArray", "bufferDeviceAddress", "vulkanMemoryModelDeviceScope"}
    elsewhere |= {"shaderDrawParameters", "shaderDemoteToHelperInvocation", "sampleRateShading"}
    # Here in test_cooperative_matrices.py, and in the cases of the suite that are tested with planted errors.
    elsewhere |= {"cooperativeMatrix", "shaderBFloat16Type", "shaderBFloat16CooperativeMatrix", "longVector"}
    # Here in test_matrix_elements.py, with the features of VK_EXT_cooperative_matrix_maintenance1.
    kinds = ("Reductions", "Conversions", "PerElementOperations", "GetCoordinate")
    elsewhere |= {f"cooperativeMatrix{kind}{vendor}" for kind in kinds for vendor in ("", "EXT")}
    elsewhere |= {"shaderFloat8", "shaderFloat8CooperativeMatrix"}  # here in test_float8.py
    elsewhere |= {"shaderClipDistance", "shaderCullDistance", "geometryShader", "shaderQuadControl"}
    elsewhere |= {"computeDerivativeGroupQuads", "computeDerivativeGroupLinear"}
    elsewhere |= {"shaderMixedFloatDotProductBFloat16Acc"}  # in test_lanewise_mixed_dots.py
    elsewhere |= {"shaderAbort", "shaderConstantData"}  # the page on findings "abort" has a shader
    # In tests/check/test_check_pointers.py.
    elsewhere |= {"variablePointers", "variablePointersStorageBuffer"}
    elsewhere |= {"shaderUntypedPointers", "shader64BitIndexing"}
    elsewhere |= {"shaderRelaxedExtendedInstruction"}  # in tests/check/test_check_new_instructions.py
    assert declared - elsewhere - {use.name for use in USES} == set()
