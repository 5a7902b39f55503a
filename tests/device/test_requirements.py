"""Requirements of modules, by Vulkan's names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.device import Capabilities, Subgroup, limits, query, vk
from vkgroup.device.requirements import missing
from vkgroup.spec.categories import OPERATION_BITS
from vkgroup.spec.features import STRUCTS
from vkgroup.spec.limits import DESCRIPTOR_LIMITS
from vkgroup.spec.needs import CAPABILITIES, SPIRV_EXTENSIONS
from vkgroup.spec.stages import STAGE_BITS
from vkgroup.spirv import Module, grammar

COMPUTE = (
    "#version 460\n{extensions}\nlayout(local_size_x = 8) in;\n{declarations}\nvoid main() {{ {body} }}\n"
)

#: A device that has everything, so that each test can take one thing away.
ALL = Capabilities(
    name="everything",
    type="cpu",
    api_version=(1, 3, 0),
    subgroup=Subgroup(8, tuple(STAGE_BITS), tuple(OPERATION_BITS), True),
    features=frozenset(
        need
        for needs in [*CAPABILITIES.values(), "maintenance4", "scalarBlockLayout"]
        for need in needs.split("|")
    )
    | {"shaderSubgroupExtendedTypes", "subgroupBroadcastDynamicId", "uniformBufferStandardLayout"},
    extensions={need: 1 for needs in SPIRV_EXTENSIONS.values() for need in needs.split("|")},
)


KERNEL = 6
"""The capability of OpenCL's kernels, which no Vulkan device has."""


def module_of(
    body: str,
    declarations: str = "",
    *extensions: str,
    target: TargetEnvironment = TargetEnvironment.VULKAN_1_1,
) -> Module:
    lines = "\n".join(f"#extension {name} : require" for name in extensions)
    source = COMPUTE.format(extensions=lines, declarations=declarations, body=body)
    return compile_source(source, stage="compute", target=target)


def known_names() -> set[str]:
    names = {name for struct in STRUCTS for name in query.feature_struct(struct).fields}
    return names | {name for name, _ in vk.ffi.typeof("VkPhysicalDeviceFeatures").fields}


@pytest.mark.parametrize(
    ("body", "feature"),
    [
        ("atomicAdd(floats[0], 1.0);", "shaderBufferFloat32AtomicAdd"),
        ("atomicAdd(inside, 1.0);", "shaderSharedFloat32AtomicAdd"),
        ("imageAtomicAdd(picture, 0, 1.0);", "shaderImageFloat32AtomicAdd"),
        ("atomicExchange(floats[0], 1.0);", "shaderBufferFloat32Atomics"),
        ("atomicMax(floats[0], 1.0);", "shaderBufferFloat32AtomicMinMax"),
        ("atomicAdd(doubles[0], 1.0LF);", "shaderBufferFloat64AtomicAdd"),
        ("atomicAdd(longs[0], 1L);", "shaderBufferInt64Atomics"),
        ("atomicAdd(inside_long, 1L);", "shaderSharedInt64Atomics"),
    ],
)
def test_atomics_need_the_feature_of_their_memory(body: str, feature: str) -> None:
    """A device may have float atomics in shared memory alone, as GPUs before RDNA 3 do with RADV."""
    declarations = """
        layout(binding = 0) buffer A { float floats[]; };
        layout(binding = 1) buffer B { double doubles[]; };
        layout(binding = 2) buffer C { int64_t longs[]; };
        layout(binding = 3, r32f) uniform image1D picture;
        shared float inside;
        shared int64_t inside_long;"""
    names = ("shader_atomic_float", "shader_atomic_float2", "shader_explicit_arithmetic_types_int64")
    extensions = [f"GL_EXT_{name}" for name in names] + ["GL_EXT_shader_atomic_int64"]
    module = module_of(body, declarations, *extensions, target=TargetEnvironment.VULKAN_1_2)
    kinds = [
        kind for width in ("16", "32", "64") for kind in (f"Float{width}Atomics", f"Float{width}AtomicAdd")
    ]
    kinds += ["Float32AtomicMinMax", "Int64Atomics"]
    everything = ALL.features | {
        f"shader{memory}{kind}" for memory in ("Buffer", "Shared", "Image") for kind in kinds
    }
    assert missing(module, replace(ALL, features=everything)) == []
    assert missing(module, replace(ALL, features=everything - {feature})) == [feature]


def test_the_tables_name_capabilities_that_exist() -> None:
    assert set(CAPABILITIES) <= set(grammar().enumeration("Capability").values())


@pytest.mark.parametrize("table", [CAPABILITIES, SPIRV_EXTENSIONS])
def test_the_tables_name_features_that_are_read(table: dict[str, str]) -> None:
    needs = {need for text in table.values() for need in text.split("|") if need}
    plain = {n for n in needs if not n.startswith("VK_") and not n[0].isdigit()} - set(OPERATION_BITS)
    assert plain <= known_names()


def test_extensions_in_the_tables_are_enabled() -> None:
    """A need that a device meets by an extension is met only if that extension is enabled, or core."""
    needs = {need for text in CAPABILITIES.values() for need in text.split("|")}
    extensions = {need: 1 for need in needs if need.startswith("VK_")}
    structs = query.usable_structs((1, 1), extensions)
    assert set(query.wanted_extensions(structs, extensions)) == set(extensions)


CASES = [
    ("double x = 1.0;\nd[0] = x;", "layout(binding = 0) buffer B { double d[]; };", (), "shaderFloat64"),
    (
        "d[0] += int64_t(1);",
        "layout(binding = 0) buffer B { int64_t d[]; };",
        ("GL_EXT_shader_explicit_arithmetic_types_int64",),
        "shaderInt64",
    ),
    (
        "d[0] += uint8_t(1);",
        "layout(binding = 0) buffer B { uint8_t d[]; };",
        ("GL_EXT_shader_explicit_arithmetic_types_int8",),
        "storageBuffer8BitAccess",
    ),
    (
        "d[0] = subgroupAdd(d[0]);",
        "layout(binding = 0) buffer B { int64_t d[]; };",
        (
            "GL_EXT_shader_explicit_arithmetic_types_int64",
            "GL_KHR_shader_subgroup_arithmetic",
            "GL_EXT_shader_subgroup_extended_types_int64",
        ),
        "shaderSubgroupExtendedTypes",
    ),
    (
        "d[0] = atomicAdd(d[1], 1.0);",
        "layout(binding = 0) buffer B { float d[]; };",
        ("GL_EXT_shader_atomic_float",),
        "shaderBufferFloat32AtomicAdd",
    ),
]


@pytest.mark.parametrize(("body", "declarations", "extensions", "feature"), CASES, ids=[c[3] for c in CASES])
def test_a_missing_feature_is_named(
    body: str, declarations: str, extensions: tuple[str, ...], feature: str
) -> None:
    module = module_of(body, declarations, *extensions)
    assert missing(module, ALL) == []
    others = {name for name in ALL.features if not name.endswith("Float32AtomicAdd") or name == feature}
    without = replace(ALL, features=frozenset(others - {feature}))
    assert any(feature in need for need in missing(module, without))


@pytest.mark.parametrize(
    ("call", "category"),
    [
        ("subgroupElect() ? 1u : 0u", "basic"),
        ("subgroupAll(true) ? 1u : 0u", "vote"),
        ("subgroupAdd(1u)", "arithmetic"),
        ("subgroupBallot(true).x", "ballot"),
        ("subgroupShuffle(1u, 1u)", "shuffle"),
        ("subgroupShuffleUp(1u, 1u)", "shuffle_relative"),
        ("subgroupClusteredAdd(1u, 4u)", "clustered"),
        ("subgroupQuadSwapDiagonal(1u)", "quad"),
    ],
)
def test_a_missing_category_is_named(call: str, category: str) -> None:
    declarations = "layout(binding = 0) buffer B { uint d[]; };"
    module = module_of(f"d[0] = {call};", declarations, f"GL_KHR_shader_subgroup_{category}")
    assert missing(module, ALL) == []
    left = tuple(name for name in OPERATION_BITS if name != category)
    without = replace(ALL, subgroup=Subgroup(8, ("compute",), left))
    assert missing(module, without) == [f"VK_SUBGROUP_FEATURE_{category.upper()}_BIT"]


def test_partitions_need_either_extension_that_promises_them() -> None:
    module = module_of(
        "d[0] = subgroupPartitionNV(d[1]).x;",
        "layout(binding = 0) buffer B { uint d[]; };",
        "GL_NV_shader_subgroup_partitioned",
    )
    older = replace(ALL, extensions={"VK_NV_shader_subgroup_partitioned": 1})
    neither = replace(ALL, extensions={})
    promoted = replace(neither, features=ALL.features | {"shaderSubgroupPartitioned"})
    assert missing(module, promoted) == missing(module, older) == []
    assert missing(module, neither) == ["VK_NV_shader_subgroup_partitioned or shaderSubgroupPartitioned"]
    left = tuple(name for name in OPERATION_BITS if name != "partitioned_nv")
    without = replace(ALL, subgroup=Subgroup(8, ("compute",), left))
    assert missing(module, without) == ["VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV"]


def test_subgroups_in_a_stage_without_them_are_named() -> None:
    module = module_of(
        "if (subgroupElect()) d[0] = 1u;",
        "layout(binding = 0) buffer B { uint d[]; };",
        "GL_KHR_shader_subgroup_basic",
    )
    without = replace(ALL, subgroup=Subgroup(8, ("fragment",), tuple(OPERATION_BITS)))
    assert missing(module, without) == ["subgroup operations in the compute stage (supportedStages)"]


def test_a_broadcast_from_a_variable_needs_its_feature() -> None:
    module = module_of(
        "d[0] = subgroupBroadcast(d[1], d[2]);",
        "layout(binding = 0) buffer B { uint d[]; };",
        "GL_KHR_shader_subgroup_ballot",
        target=TargetEnvironment.VULKAN_1_2,
    )
    without = replace(ALL, features=ALL.features - {"subgroupBroadcastDynamicId"})
    assert missing(module, without) == ["subgroupBroadcastDynamicId"]


def test_a_module_newer_than_the_device_takes_is_named() -> None:
    module = module_of("", target=TargetEnvironment.VULKAN_1_3)
    found = missing(module, replace(ALL, api_version=(1, 1, 0), extensions={}))
    assert found == ["SPIR-V 1.6 (the device's Vulkan 1.1 takes up to 1.3)"]


def test_layouts_need_their_features() -> None:
    module = module_of(
        "d[0] = vec3(1);",
        "layout(scalar, binding = 0) buffer B { vec3 d[]; };",
        "GL_EXT_scalar_block_layout",
    )
    without = replace(ALL, features=ALL.features - {"scalarBlockLayout"})
    assert missing(module, ALL) == []
    assert missing(module, without) == ["scalarBlockLayout"]


def test_a_capability_that_nobody_knows_is_never_met() -> None:
    module = Module.from_bytes(
        module_of("").to_bytes()[:20]
        + (2 << 16 | 17).to_bytes(4, "little")
        + KERNEL.to_bytes(4, "little")
        + module_of("").to_bytes()[20:]
    )
    assert missing(module, ALL) == ["SPIR-V capability Kernel, which no Vulkan feature known here enables"]


# --- limits -------------------------------------------------------------------------------------------

LIMITS = {
    "maxComputeSharedMemorySize": 1024,
    "maxPushConstantsSize": 16,
    "maxBoundDescriptorSets": 2,
    "maxComputeWorkGroupSize": (64, 64, 4),
    "maxComputeWorkGroupInvocations": 64,
    **{name: 2 for names in DESCRIPTOR_LIMITS.values() for name in names},
}


@pytest.mark.parametrize(
    ("declarations", "body", "limit"),
    [
        ("shared uint s[257];", "s[0] = 1u;", "maxComputeSharedMemorySize of 1028 (it is 1024)"),
        (
            "layout(push_constant) uniform P { vec4 a; float b; };",
            "",
            "maxPushConstantsSize of 20 (it is 16)",
        ),
        (
            "layout(set = 2, binding = 0) buffer B { uint d[]; };",
            "d[0] = 1u;",
            "maxBoundDescriptorSets of 3 (it is 2)",
        ),
        (
            "layout(binding = 0) buffer B { uint d; } b[3];",
            "b[0].d = b[1].d;",
            "maxPerStageDescriptorStorageBuffers of 3 (it is 2)",
        ),
    ],
)
def test_what_goes_over_a_limit_is_named_with_both_numbers(declarations: str, body: str, limit: str) -> None:
    reflection = module_of(body, declarations).reflection
    found = limits.exceeded(reflection, reflection.entry_point(), {}, replace(ALL, limits=LIMITS))
    assert limit in found


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (
            (65, 1, 1),
            [
                "maxComputeWorkGroupSize of (65, 1, 1) (it is (64, 64, 4))",
                "maxComputeWorkGroupInvocations of 65 (it is 64)",
            ],
        ),
        ((1, 1, 5), ["maxComputeWorkGroupSize of (1, 1, 5) (it is (64, 64, 4))"]),
        ((16, 8, 1), ["maxComputeWorkGroupInvocations of 128 (it is 64)"]),
        ((0, 1, 1), ["a local size of at least 1 in each dimension (it is (0, 1, 1))"]),
        ((64, 1, 1), []),
    ],
)
def test_local_sizes_are_checked_as_specialized(size: tuple[int, int, int], expected: list[str]) -> None:
    module = compile_source(
        "#version 460\nlayout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n"
        "void main() {}",
        stage="compute",
    )
    reflection = module.reflection
    values = dict(enumerate(size))
    over = limits.exceeded(reflection, reflection.entry_point(), values, replace(ALL, limits=LIMITS))
    assert over == expected
