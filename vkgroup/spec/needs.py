"""Features and extensions that SPIR-V capabilities, extensions and execution modes need.

The source is Vulkan 1.4, appendix "Vulkan Environment for SPIR-V".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vkgroup.spec.categories import Category

_WITHOUT_NEED = """
    Matrix Shader InputAttachment Sampled1D Image1D SampledBuffer ImageBuffer ImageQuery DerivativeControl
    DeviceGroup
"""

#: Capabilities with the name of their feature.
_NAMED_AS_FEATURE = """
    RayTraversalPrimitiveCullingKHR RayQueryKHR StorageBuffer16BitAccess UniformAndStorageBuffer16BitAccess
    StoragePushConstant16 StorageInputOutput16 StorageBuffer8BitAccess UniformAndStorageBuffer8BitAccess
    StoragePushConstant8 VariablePointersStorageBuffer VariablePointers VulkanMemoryModel
    VulkanMemoryModelDeviceScope WorkgroupMemoryExplicitLayoutKHR WorkgroupMemoryExplicitLayout8BitAccessKHR
    WorkgroupMemoryExplicitLayout16BitAccessKHR RuntimeDescriptorArray ImageCubeArray SampleRateShading
    ComputeDerivativeGroupQuadsKHR ComputeDerivativeGroupLinearKHR ShaderSMBuiltinsNV CooperativeMatrixKHR
    LongVectorEXT CooperativeMatrixConversionsNV CooperativeMatrixTensorAddressingNV
    CooperativeMatrixBlockLoadsNV Shader64BitIndexingEXT DescriptorHeapEXT
"""

#: Capabilities whose feature has "shader" before the name.
_NAMED_AS_SHADER_FEATURE = """
    DrawParameters Float64 Int64 Int16 Float16 Int8 UniformBufferArrayDynamicIndexing
    SampledImageArrayDynamicIndexing StorageBufferArrayDynamicIndexing StorageImageArrayDynamicIndexing
    UniformTexelBufferArrayDynamicIndexing StorageTexelBufferArrayDynamicIndexing
    InputAttachmentArrayDynamicIndexing UniformBufferArrayNonUniformIndexing
    SampledImageArrayNonUniformIndexing StorageBufferArrayNonUniformIndexing
    StorageImageArrayNonUniformIndexing UniformTexelBufferArrayNonUniformIndexing
    StorageTexelBufferArrayNonUniformIndexing InputAttachmentArrayNonUniformIndexing
    StorageImageExtendedFormats StorageImageMultisample ImageGatherExtended ClipDistance CullDistance
    DemoteToHelperInvocation QuadControlKHR BFloat16TypeKHR BFloat16DotProductKHR
    BFloat16CooperativeMatrixKHR FloatControls2 ExpectAssumeKHR SplitBarrierEXT AbortKHR ConstantDataKHR
    ReplicatedCompositesEXT Float8CooperativeMatrixEXT UntypedPointersKHR
"""

_FLOAT_MODES = """
    DenormPreserve DenormFlushToZero SignedZeroInfNanPreserve RoundingModeRTE RoundingModeRTZ
"""


def _stem(capability: str) -> str:
    """Return the name of a capability without its vendor."""
    return re.sub("(KHR|EXT|NV)$", "", capability)


def _memories(feature: str, *memories: str) -> str:
    """Return the features of an atomic operation in several kinds of memory, as alternatives."""
    return "|".join(f"shader{memory}{feature}" for memory in memories)


CAPABILITIES: Mapping[str, str] = {
    **{category.capability: (*category.features, category.declared)[0] for category in Category},
    **dict.fromkeys(_WITHOUT_NEED.split(), ""),
    **{name: name[0].lower() + _stem(name)[1:] for name in _NAMED_AS_FEATURE.split()},
    **{name: f"shader{_stem(name)}" for name in _NAMED_AS_SHADER_FEATURE.split()},
    **dict.fromkeys(_FLOAT_MODES.split(), "1.2|VK_KHR_shader_float_controls"),
    "Float8EXT": "shaderFloat8",
    # One number for the capabilities of VK_NV_cooperative_matrix2 and VK_EXT_cooperative_matrix_maintenance1.
    **{
        f"{name[0].upper()}{name[1:]}EXT": f"{name}EXT|{name}"
        for name in ("cooperativeMatrixReductions", "cooperativeMatrixPerElementOperations")
    },
    "CooperativeMatrixConversionsEXT": "cooperativeMatrixConversionsEXT",
    "CooperativeMatrixGetCoordinateEXT": "cooperativeMatrixGetCoordinateEXT",
    "MultiView": "multiview",
    "Geometry": "geometryShader",
    "Tessellation": "tessellationShader",
    "MeshShadingEXT": "meshShader",
    "RayTracingKHR": "rayTracingPipeline",
    "GeometryPointSize": "shaderTessellationAndGeometryPointSize",
    "TessellationPointSize": "shaderTessellationAndGeometryPointSize",
    "Int64ImageEXT": "shaderImageInt64Atomics",
    "Int64Atomics": _memories("Int64Atomics", "Buffer", "Shared"),
    "AtomicFloat32AddEXT": _memories("Float32AtomicAdd", "Buffer", "Shared", "Image"),
    "AtomicFloat64AddEXT": _memories("Float64AtomicAdd", "Buffer", "Shared"),
    "AtomicFloat16AddEXT": _memories("Float16AtomicAdd", "Buffer", "Shared"),
    "AtomicFloat16MinMaxEXT": _memories("Float16AtomicMinMax", "Buffer", "Shared"),
    "AtomicFloat32MinMaxEXT": _memories("Float32AtomicMinMax", "Buffer", "Shared", "Image"),
    "AtomicFloat64MinMaxEXT": _memories("Float64AtomicMinMax", "Buffer", "Shared"),
    "PhysicalStorageBufferAddresses": "bufferDeviceAddress",
    "ShaderNonUniform": "1.2|VK_EXT_descriptor_indexing",
    "StorageImageReadWithoutFormat": "shaderStorageImageReadWithoutFormat|1.3",
    "StorageImageWriteWithoutFormat": "shaderStorageImageWriteWithoutFormat|1.3",
    "SampledCubeArray": "imageCubeArray",
    "ImageMSArray": "shaderStorageImageMultisample",
    "MinLod": "shaderResourceMinLod",
    "SparseResidency": "shaderResourceResidency",
    "InterpolationFunction": "sampleRateShading",
    "DotProduct": "shaderIntegerDotProduct",
    "DotProductInputAll": "shaderIntegerDotProduct",
    "DotProductInput4x8Bit": "shaderIntegerDotProduct",
    "DotProductInput4x8BitPacked": "shaderIntegerDotProduct",
    "SubgroupBallotKHR": "VK_EXT_shader_subgroup_ballot",
    "SubgroupVoteKHR": "VK_EXT_shader_subgroup_vote",
    **{
        f"DotProduct{name}VALVE": f"shaderMixedFloatDotProduct{name}"
        for name in ("Float16AccFloat32", "Float16AccFloat16", "BFloat16Acc", "Float8AccFloat32")
    },
    "ShaderClockKHR": "shaderSubgroupClock|shaderDeviceClock",
    "FMAKHR": "shaderFmaFloat16|shaderFmaFloat32|shaderFmaFloat64",
}
"""Needs of each SPIR-V capability: alternatives joined by "|".

A name is that of a feature, of an extension (VK_…), of a subgroup category (a key of `OPERATION_BITS`), or a
Vulkan version ("1.2"); "" means no requirement.
"""

SPIRV_EXTENSIONS: Mapping[str, str] = {
    "SPV_EXT_mesh_shader": "meshShader",
    "SPV_KHR_ray_tracing": "rayTracingPipeline",
    "SPV_KHR_ray_query": "rayQuery",
    "SPV_KHR_variable_pointers": "1.1|VK_KHR_variable_pointers",
    "SPV_KHR_shader_draw_parameters": "1.1|VK_KHR_shader_draw_parameters",
    "SPV_KHR_8bit_storage": "1.2|VK_KHR_8bit_storage",
    "SPV_KHR_16bit_storage": "1.1|VK_KHR_16bit_storage",
    "SPV_KHR_float_controls": "1.2|VK_KHR_shader_float_controls",
    "SPV_KHR_float_controls2": "shaderFloatControls2",
    "SPV_KHR_storage_buffer_storage_class": "1.1|VK_KHR_storage_buffer_storage_class",
    "SPV_KHR_vulkan_memory_model": "1.2|VK_KHR_vulkan_memory_model",
    "SPV_KHR_physical_storage_buffer": "1.2|VK_KHR_buffer_device_address",
    "SPV_EXT_physical_storage_buffer": "1.2|VK_KHR_buffer_device_address",
    "SPV_EXT_descriptor_indexing": "1.2|VK_EXT_descriptor_indexing",
    "SPV_EXT_demote_to_helper_invocation": "1.3|VK_EXT_shader_demote_to_helper_invocation",
    "SPV_KHR_terminate_invocation": "1.3|VK_KHR_shader_terminate_invocation",
    "SPV_KHR_integer_dot_product": "1.3|VK_KHR_shader_integer_dot_product",
    "SPV_KHR_non_semantic_info": "1.3|VK_KHR_shader_non_semantic_info",
    "SPV_KHR_no_integer_wrap_decoration": "1.2|VK_KHR_shader_float_controls",
    "SPV_KHR_multiview": "1.1|VK_KHR_multiview",
    "SPV_KHR_device_group": "1.1|VK_KHR_device_group",
    "SPV_KHR_workgroup_memory_explicit_layout": "VK_KHR_workgroup_memory_explicit_layout",
    "SPV_EXT_descriptor_heap": "descriptorHeap",
    "SPV_KHR_untyped_pointers": "shaderUntypedPointers",
    "SPV_EXT_shader_64bit_indexing": "shader64BitIndexing",
    "SPV_KHR_shader_ballot": "VK_EXT_shader_subgroup_ballot",
    "SPV_KHR_subgroup_vote": "VK_EXT_shader_subgroup_vote",
    "SPV_KHR_subgroup_rotate": "shaderSubgroupRotate",
    "SPV_KHR_subgroup_uniform_control_flow": "shaderSubgroupUniformControlFlow",
    "SPV_KHR_maximal_reconvergence": "shaderMaximalReconvergence",
    "SPV_KHR_quad_control": "shaderQuadControl",
    "SPV_KHR_compute_shader_derivatives": "VK_KHR_compute_shader_derivatives",
    "SPV_KHR_shader_clock": "VK_KHR_shader_clock",
    "SPV_KHR_cooperative_matrix": "VK_KHR_cooperative_matrix",
    "SPV_EXT_long_vector": "VK_EXT_shader_long_vector",
    "SPV_EXT_split_barrier": "shaderSplitBarrier",
    "SPV_EXT_replicated_composites": "shaderReplicatedComposites",
    "SPV_KHR_abort": "shaderAbort",
    "SPV_KHR_relaxed_extended_instruction": "shaderRelaxedExtendedInstruction",
    "SPV_KHR_constant_data": "shaderConstantData",
    "SPV_KHR_fma": "VK_KHR_shader_fma",
    "SPV_KHR_bfloat16": "VK_KHR_shader_bfloat16",
    "SPV_VALVE_mixed_float_dot_product": "VK_VALVE_shader_mixed_float_dot_product",
    "SPV_EXT_float8": "VK_EXT_shader_float8",
    "SPV_EXT_cooperative_matrix_maintenance1": "VK_EXT_cooperative_matrix_maintenance1",
    "SPV_NV_cooperative_matrix2": "VK_NV_cooperative_matrix2",
    "SPV_NV_tensor_addressing": "VK_NV_cooperative_matrix2",
    "SPV_NV_shader_subgroup_partitioned": "VK_NV_shader_subgroup_partitioned|shaderSubgroupPartitioned",
    "SPV_EXT_shader_subgroup_partitioned": "shaderSubgroupPartitioned",
    "SPV_NV_shader_sm_builtins": "VK_NV_shader_sm_builtins",
    "SPV_EXT_shader_image_int64": "VK_EXT_shader_image_atomic_int64",
    "SPV_EXT_shader_atomic_float_add": "VK_EXT_shader_atomic_float",
    "SPV_EXT_shader_atomic_float_min_max": "VK_EXT_shader_atomic_float2",
    "SPV_EXT_shader_atomic_float16_add": "VK_EXT_shader_atomic_float2",
    "SPV_KHR_expect_assume": "shaderExpectAssume",
    "SPV_GOOGLE_decorate_string": "VK_GOOGLE_decorate_string",
    "SPV_GOOGLE_hlsl_functionality1": "VK_GOOGLE_hlsl_functionality1",
    "SPV_GOOGLE_user_type": "VK_GOOGLE_user_type",
}
"""Needs of each SPIR-V extension, in the same notation."""

MODES: Mapping[str, str] = {
    "LocalSizeId": "maintenance4",
    "MaximallyReconvergesKHR": "shaderMaximalReconvergence",
    "SubgroupUniformControlFlowKHR": "shaderSubgroupUniformControlFlow",
}
"""Needs of each execution mode, in the same notation; a mode without an entry needs nothing."""

FLOAT_MODES: Mapping[str, str] = {name: f"shader{name}Float" for name in _FLOAT_MODES.split()}
"""Members of VkPhysicalDeviceFloatControlsProperties, without the width, by execution mode."""

SPIRV_VERSIONS: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = (
    ((1, 3), (1, 6)),
    ((1, 2), (1, 5)),
    ((1, 1), (1, 3)),
    ((1, 0), (1, 0)),
)
"""Vulkan versions, newest first, each with the newest SPIR-V version that it supports."""
