"""SPIR-V capabilities, extensions and execution modes, with the Vulkan features that each needs.

The source is Vulkan 1.4, appendix "Vulkan Environment for SPIR-V".
"""

from __future__ import annotations

from collections.abc import Mapping

from vkgroup.spec.categories import Category


def _needs(category: Category) -> str:
    """Return the need of a category's capability: its bit, or the first feature that came with it."""
    return category.features[0] if category.features else category.declared


CAPABILITIES: Mapping[str, str] = {
    **{category.capability: _needs(category) for category in Category},
    "Matrix": "",
    "Shader": "",
    "InputAttachment": "",
    "Sampled1D": "",
    "Image1D": "",
    "SampledBuffer": "",
    "ImageBuffer": "",
    "ImageQuery": "",
    "DerivativeControl": "",
    "DeviceGroup": "",
    "DrawParameters": "shaderDrawParameters",
    "MultiView": "multiview",
    "Geometry": "geometryShader",
    "Tessellation": "tessellationShader",
    "MeshShadingEXT": "meshShader",
    "RayTracingKHR": "rayTracingPipeline",
    "RayTraversalPrimitiveCullingKHR": "rayTraversalPrimitiveCulling",
    "RayQueryKHR": "rayQuery",
    "GeometryPointSize": "shaderTessellationAndGeometryPointSize",
    "TessellationPointSize": "shaderTessellationAndGeometryPointSize",
    "Float64": "shaderFloat64",
    "Int64": "shaderInt64",
    "Int16": "shaderInt16",
    "Float16": "shaderFloat16",
    "Int8": "shaderInt8",
    "Int64ImageEXT": "shaderImageInt64Atomics",
    "Int64Atomics": "shaderBufferInt64Atomics|shaderSharedInt64Atomics",
    "AtomicFloat32AddEXT": (
        "shaderBufferFloat32AtomicAdd|shaderSharedFloat32AtomicAdd|shaderImageFloat32AtomicAdd"
    ),
    "AtomicFloat64AddEXT": "shaderBufferFloat64AtomicAdd|shaderSharedFloat64AtomicAdd",
    "AtomicFloat16AddEXT": "shaderBufferFloat16AtomicAdd|shaderSharedFloat16AtomicAdd",
    "AtomicFloat16MinMaxEXT": "shaderBufferFloat16AtomicMinMax|shaderSharedFloat16AtomicMinMax",
    "AtomicFloat32MinMaxEXT": (
        "shaderBufferFloat32AtomicMinMax|shaderSharedFloat32AtomicMinMax|shaderImageFloat32AtomicMinMax"
    ),
    "AtomicFloat64MinMaxEXT": "shaderBufferFloat64AtomicMinMax|shaderSharedFloat64AtomicMinMax",
    "StorageBuffer16BitAccess": "storageBuffer16BitAccess",
    "UniformAndStorageBuffer16BitAccess": "uniformAndStorageBuffer16BitAccess",
    "StoragePushConstant16": "storagePushConstant16",
    "StorageInputOutput16": "storageInputOutput16",
    "StorageBuffer8BitAccess": "storageBuffer8BitAccess",
    "UniformAndStorageBuffer8BitAccess": "uniformAndStorageBuffer8BitAccess",
    "StoragePushConstant8": "storagePushConstant8",
    "VariablePointersStorageBuffer": "variablePointersStorageBuffer",
    "VariablePointers": "variablePointers",
    "VulkanMemoryModel": "vulkanMemoryModel",
    "VulkanMemoryModelDeviceScope": "vulkanMemoryModelDeviceScope",
    "PhysicalStorageBufferAddresses": "bufferDeviceAddress",
    "WorkgroupMemoryExplicitLayoutKHR": "workgroupMemoryExplicitLayout",
    "WorkgroupMemoryExplicitLayout8BitAccessKHR": "workgroupMemoryExplicitLayout8BitAccess",
    "WorkgroupMemoryExplicitLayout16BitAccessKHR": "workgroupMemoryExplicitLayout16BitAccess",
    "UniformBufferArrayDynamicIndexing": "shaderUniformBufferArrayDynamicIndexing",
    "SampledImageArrayDynamicIndexing": "shaderSampledImageArrayDynamicIndexing",
    "StorageBufferArrayDynamicIndexing": "shaderStorageBufferArrayDynamicIndexing",
    "StorageImageArrayDynamicIndexing": "shaderStorageImageArrayDynamicIndexing",
    "UniformTexelBufferArrayDynamicIndexing": "shaderUniformTexelBufferArrayDynamicIndexing",
    "StorageTexelBufferArrayDynamicIndexing": "shaderStorageTexelBufferArrayDynamicIndexing",
    "InputAttachmentArrayDynamicIndexing": "shaderInputAttachmentArrayDynamicIndexing",
    "ShaderNonUniform": "1.2|VK_EXT_descriptor_indexing",
    "RuntimeDescriptorArray": "runtimeDescriptorArray",
    "UniformBufferArrayNonUniformIndexing": "shaderUniformBufferArrayNonUniformIndexing",
    "SampledImageArrayNonUniformIndexing": "shaderSampledImageArrayNonUniformIndexing",
    "StorageBufferArrayNonUniformIndexing": "shaderStorageBufferArrayNonUniformIndexing",
    "StorageImageArrayNonUniformIndexing": "shaderStorageImageArrayNonUniformIndexing",
    "UniformTexelBufferArrayNonUniformIndexing": "shaderUniformTexelBufferArrayNonUniformIndexing",
    "StorageTexelBufferArrayNonUniformIndexing": "shaderStorageTexelBufferArrayNonUniformIndexing",
    "InputAttachmentArrayNonUniformIndexing": "shaderInputAttachmentArrayNonUniformIndexing",
    "StorageImageExtendedFormats": "shaderStorageImageExtendedFormats",
    "StorageImageReadWithoutFormat": "shaderStorageImageReadWithoutFormat|1.3",
    "StorageImageWriteWithoutFormat": "shaderStorageImageWriteWithoutFormat|1.3",
    "StorageImageMultisample": "shaderStorageImageMultisample",
    "ImageGatherExtended": "shaderImageGatherExtended",
    "ImageCubeArray": "imageCubeArray",
    "SampledCubeArray": "imageCubeArray",
    "ImageMSArray": "shaderStorageImageMultisample",
    "MinLod": "shaderResourceMinLod",
    "SparseResidency": "shaderResourceResidency",
    "ClipDistance": "shaderClipDistance",
    "CullDistance": "shaderCullDistance",
    "SampleRateShading": "sampleRateShading",
    "InterpolationFunction": "sampleRateShading",
    "DemoteToHelperInvocation": "shaderDemoteToHelperInvocation",
    "DotProduct": "shaderIntegerDotProduct",
    "DotProductInputAll": "shaderIntegerDotProduct",
    "DotProductInput4x8Bit": "shaderIntegerDotProduct",
    "DotProductInput4x8BitPacked": "shaderIntegerDotProduct",
    "QuadControlKHR": "shaderQuadControl",
    "ComputeDerivativeGroupQuadsKHR": "computeDerivativeGroupQuads",
    "ComputeDerivativeGroupLinearKHR": "computeDerivativeGroupLinear",
    "SubgroupBallotKHR": "VK_EXT_shader_subgroup_ballot",
    "SubgroupVoteKHR": "VK_EXT_shader_subgroup_vote",
    "ShaderSMBuiltinsNV": "shaderSMBuiltins",
    "ShaderClockKHR": "shaderSubgroupClock|shaderDeviceClock",
    "CooperativeMatrixKHR": "cooperativeMatrix",
    "LongVectorEXT": "longVector",
    "BFloat16TypeKHR": "shaderBFloat16Type",
    "BFloat16DotProductKHR": "shaderBFloat16DotProduct",
    "BFloat16CooperativeMatrixKHR": "shaderBFloat16CooperativeMatrix",
    "CooperativeMatrixReductionsNV": "cooperativeMatrixReductions",
    "CooperativeMatrixConversionsNV": "cooperativeMatrixConversions",
    "CooperativeMatrixPerElementOperationsNV": "cooperativeMatrixPerElementOperations",
    "CooperativeMatrixTensorAddressingNV": "cooperativeMatrixTensorAddressing",
    "CooperativeMatrixBlockLoadsNV": "cooperativeMatrixBlockLoads",
    "DenormPreserve": "1.2|VK_KHR_shader_float_controls",
    "DenormFlushToZero": "1.2|VK_KHR_shader_float_controls",
    "SignedZeroInfNanPreserve": "1.2|VK_KHR_shader_float_controls",
    "RoundingModeRTE": "1.2|VK_KHR_shader_float_controls",
    "RoundingModeRTZ": "1.2|VK_KHR_shader_float_controls",
    "FloatControls2": "shaderFloatControls2",
    "ExpectAssumeKHR": "shaderExpectAssume",
}
"""Needs of each SPIR-V capability: alternatives joined by "|".

A name is that of a feature, of an extension (VK_…), of a subgroup category (a key of `OPERATION_BITS`), or a
Vulkan version ("1.2"); "" needs nothing.
"""

EXTENSIONS: Mapping[str, str] = {
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
    "SPV_KHR_bfloat16": "VK_KHR_shader_bfloat16",
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
"""Needs of each execution mode, in the same notation; a mode that is not here needs nothing."""

FLOAT_MODES: Mapping[str, str] = {
    "DenormPreserve": "shaderDenormPreserveFloat",
    "DenormFlushToZero": "shaderDenormFlushToZeroFloat",
    "SignedZeroInfNanPreserve": "shaderSignedZeroInfNanPreserveFloat",
    "RoundingModeRTE": "shaderRoundingModeRTEFloat",
    "RoundingModeRTZ": "shaderRoundingModeRTZFloat",
}
"""Members of VkPhysicalDeviceFloatControlsProperties, without the width, by execution mode."""

SPIRV_VERSIONS: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = (
    ((1, 3), (1, 6)),
    ((1, 2), (1, 5)),
    ((1, 1), (1, 3)),
    ((1, 0), (1, 0)),
)
"""Vulkan versions, newest first, each with the newest SPIR-V version that it takes."""
