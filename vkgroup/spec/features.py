"""Vulkan's feature structs and extensions, and the SPIR-V capabilities that need them.

The source of the needs is Vulkan 1.4, appendix "Vulkan Environment for SPIR-V".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from vkgroup.spec.categories import Category

Version = tuple[int, int]


@dataclass(frozen=True)
class FeatureStruct:
    """One struct of features."""

    name: str  # its C name
    extension: str = ""  # the extension that adds it; empty if only a core version does
    core: Version | None = None  # the Vulkan version that has it in its core; None if none has
    #: The version from which a struct of the core has the same members, so that a chain must not have both
    #: (VUID-VkDeviceCreateInfo-pNext-02829 and following).
    replaced: Version | None = None
    #: `fields`, `structure_type`: for structs that the headers of the `vulkan` package lack.
    fields: tuple[str, ...] | None = None
    structure_type: int | None = None

    def usable(self, version: Version, extensions: Collection[str]) -> bool:
        """Whether a device of this version with these extensions accepts the struct."""
        if self.replaced is not None and version >= self.replaced:
            return False
        return (self.core is not None and version >= self.core) or self.extension in extensions


_V11, _V12, _V13, _V14 = (1, 1), (1, 2), (1, 3), (1, 4)


def _struct(stem: str, extension: str, **columns: Any) -> FeatureStruct:
    """Return the row of a struct; the name has a vendor suffix if no core version has its members."""
    vendor = "" if columns.keys() & {"core", "replaced"} else extension.split("_")[1]
    return FeatureStruct(f"VkPhysicalDevice{stem}Features{vendor}", extension, **columns)


def _newer(stem: str, extension: str, structure_type: int, fields: str, **columns: Any) -> FeatureStruct:
    """Return the row of a struct that the headers of the `vulkan` package lack."""
    names = tuple(fields.split())
    return _struct(stem, extension, fields=names, structure_type=structure_type, **columns)


STRUCTS: tuple[FeatureStruct, ...] = (
    FeatureStruct("VkPhysicalDeviceVulkan11Features", core=_V12),
    FeatureStruct("VkPhysicalDeviceVulkan12Features", core=_V12),
    FeatureStruct("VkPhysicalDeviceVulkan13Features", core=_V13),
    _struct("MeshShader", "VK_EXT_mesh_shader"),
    _struct("AccelerationStructure", "VK_KHR_acceleration_structure"),
    _struct("RayTracingPipeline", "VK_KHR_ray_tracing_pipeline"),
    _struct("RayQuery", "VK_KHR_ray_query"),
    _struct("16BitStorage", "VK_KHR_16bit_storage", core=_V11, replaced=_V12),
    _struct("VariablePointers", "VK_KHR_variable_pointers", core=_V11, replaced=_V12),
    _struct("8BitStorage", "VK_KHR_8bit_storage", replaced=_V12),
    _struct("ShaderFloat16Int8", "VK_KHR_shader_float16_int8", replaced=_V12),
    _struct("ShaderAtomicInt64", "VK_KHR_shader_atomic_int64", replaced=_V12),
    _struct("ShaderSubgroupExtendedTypes", "VK_KHR_shader_subgroup_extended_types", replaced=_V12),
    _struct("VulkanMemoryModel", "VK_KHR_vulkan_memory_model", replaced=_V12),
    _struct("ScalarBlockLayout", "VK_EXT_scalar_block_layout", replaced=_V12),
    _struct("UniformBufferStandardLayout", "VK_KHR_uniform_buffer_standard_layout", replaced=_V12),
    _struct("BufferDeviceAddress", "VK_KHR_buffer_device_address", replaced=_V12),
    _struct("DescriptorIndexing", "VK_EXT_descriptor_indexing", replaced=_V12),
    _struct("SubgroupSizeControl", "VK_EXT_subgroup_size_control", replaced=_V13),
    _struct("ShaderDemoteToHelperInvocation", "VK_EXT_shader_demote_to_helper_invocation", replaced=_V13),
    _struct("ShaderTerminateInvocation", "VK_KHR_shader_terminate_invocation", replaced=_V13),
    _struct("ShaderIntegerDotProduct", "VK_KHR_shader_integer_dot_product", replaced=_V13),
    _struct("ZeroInitializeWorkgroupMemory", "VK_KHR_zero_initialize_workgroup_memory", replaced=_V13),
    _struct("Maintenance4", "VK_KHR_maintenance4", replaced=_V13),
    _struct("ShaderSubgroupUniformControlFlow", "VK_KHR_shader_subgroup_uniform_control_flow"),
    _struct("WorkgroupMemoryExplicitLayout", "VK_KHR_workgroup_memory_explicit_layout"),
    _struct("ShaderClock", "VK_KHR_shader_clock"),
    _struct("ShaderAtomicFloat", "VK_EXT_shader_atomic_float"),
    _struct("ShaderAtomicFloat2", "VK_EXT_shader_atomic_float2"),
    _struct("ShaderImageAtomicInt64", "VK_EXT_shader_image_atomic_int64"),
    _struct("ShaderSMBuiltins", "VK_NV_shader_sm_builtins"),
    _struct("CooperativeMatrix", "VK_KHR_cooperative_matrix"),
    _struct("ConditionalRendering", "VK_EXT_conditional_rendering"),
    _struct("PipelineExecutableProperties", "VK_KHR_pipeline_executable_properties"),
    _newer(
        "ShaderSubgroupRotate",
        "VK_KHR_shader_subgroup_rotate",
        1000416000,
        "shaderSubgroupRotate shaderSubgroupRotateClustered",
        core=_V14,
    ),
    _newer(
        "ShaderSubgroupPartitioned",
        "VK_EXT_shader_subgroup_partitioned",
        1000662000,
        "shaderSubgroupPartitioned",
    ),
    _newer(
        "ShaderFloatControls2",
        "VK_KHR_shader_float_controls2",
        1000528000,
        "shaderFloatControls2",
        core=_V14,
    ),
    _newer("ShaderExpectAssume", "VK_KHR_shader_expect_assume", 1000544000, "shaderExpectAssume", core=_V14),
    _newer(
        "ShaderMaximalReconvergence",
        "VK_KHR_shader_maximal_reconvergence",
        1000434000,
        "shaderMaximalReconvergence",
    ),
    _newer("ShaderQuadControl", "VK_KHR_shader_quad_control", 1000235000, "shaderQuadControl"),
    _newer(
        "ShaderBfloat16",
        "VK_KHR_shader_bfloat16",
        1000141000,
        "shaderBFloat16Type shaderBFloat16DotProduct shaderBFloat16CooperativeMatrix",
    ),
    _newer("ShaderLongVector", "VK_EXT_shader_long_vector", 1000635000, "longVector"),
    _newer("ShaderSplitBarrier", "VK_EXT_shader_split_barrier", 1000305000, "shaderSplitBarrier"),
    _newer("ShaderAbort", "VK_KHR_shader_abort", 1000233000, "shaderAbort"),
    _newer("ShaderConstantData", "VK_KHR_shader_constant_data", 1000231000, "shaderConstantData"),
    _newer(
        "ShaderReplicatedComposites",
        "VK_EXT_shader_replicated_composites",
        1000564000,
        "shaderReplicatedComposites",
    ),
    _newer(
        "ShaderFma",
        "VK_KHR_shader_fma",
        1000579000,
        "shaderFmaFloat16 shaderFmaFloat32 shaderFmaFloat64",
    ),
    _newer(
        "ShaderRelaxedExtendedInstruction",
        "VK_KHR_shader_relaxed_extended_instruction",
        1000558000,
        "shaderRelaxedExtendedInstruction",
    ),
    _newer("ShaderUntypedPointers", "VK_KHR_shader_untyped_pointers", 1000387000, "shaderUntypedPointers"),
    _newer(
        "DescriptorHeap", "VK_EXT_descriptor_heap", 1000135009, "descriptorHeap descriptorHeapCaptureReplay"
    ),
    _newer("Shader64BitIndexing", "VK_EXT_shader_64bit_indexing", 1000627000, "shader64BitIndexing"),
    _newer("ShaderFloat8", "VK_EXT_shader_float8", 1000567000, "shaderFloat8 shaderFloat8CooperativeMatrix"),
    _newer(
        "ShaderMixedFloatDotProduct",
        "VK_VALVE_shader_mixed_float_dot_product",
        1000673000,
        """
            shaderMixedFloatDotProductFloat16AccFloat32 shaderMixedFloatDotProductFloat16AccFloat16
            shaderMixedFloatDotProductBFloat16Acc shaderMixedFloatDotProductFloat8AccFloat32
        """,
    ),
    _newer(
        "ComputeShaderDerivatives",
        "VK_KHR_compute_shader_derivatives",
        1000201000,
        "computeDerivativeGroupQuads computeDerivativeGroupLinear",
    ),
    _newer(
        "CooperativeMatrix2",
        "VK_NV_cooperative_matrix2",
        1000593000,
        """
            cooperativeMatrixWorkgroupScope cooperativeMatrixFlexibleDimensions cooperativeMatrixReductions
            cooperativeMatrixConversions cooperativeMatrixPerElementOperations
            cooperativeMatrixTensorAddressing cooperativeMatrixBlockLoads
        """,
    ),
    _newer(
        "PortabilitySubset",
        "VK_KHR_portability_subset",
        1000163000,
        """
            constantAlphaColorBlendFactors events imageViewFormatReinterpretation imageViewFormatSwizzle
            imageView2DOn3DImage multisampleArrayImage mutableComparisonSamplers pointPolygons
            samplerMipLodBias separateStencilMaskRef shaderSampleRateInterpolationFunctions
            tessellationIsolines tessellationPointMode triangleFans vertexAttributeAccessBeyondStride
        """,
    ),
)

_EXTENSIONS = """
    VK_EXT_shader_subgroup_ballot VK_EXT_shader_subgroup_vote VK_GOOGLE_decorate_string
    VK_GOOGLE_hlsl_functionality1 VK_GOOGLE_user_type VK_KHR_deferred_host_operations
    VK_KHR_external_memory_fd VK_KHR_shader_float_controls VK_KHR_shader_non_semantic_info VK_KHR_spirv_1_4
    VK_NV_shader_subgroup_partitioned
"""

#: Extensions without a feature struct that modules or `vkgroup.device.sharing` may need; enabled if present.
EXTENSIONS = tuple(_EXTENSIONS.split())

_ROBUSTNESS = """
    robustBufferAccess robustBufferAccess2 robustImageAccess robustImageAccess2 pipelineRobustness
"""

#: Features that keep accesses inside their buffers and images.
ROBUSTNESS = frozenset(_ROBUSTNESS.split())

_NOT_ENABLED = """
    descriptorHeap descriptorHeapCaptureReplay
    accelerationStructureCaptureReplay accelerationStructureHostCommands accelerationStructureIndirectBuild
    descriptorBindingAccelerationStructureUpdateAfterBind rayTracingPipelineShaderGroupHandleCaptureReplay
    rayTracingPipelineShaderGroupHandleCaptureReplayMixed rayTracingPipelineTraceRaysIndirect
    meshShaderQueries multiviewMeshShader primitiveFragmentShadingRateMeshShader
    bufferDeviceAddressCaptureReplay bufferDeviceAddressMultiDevice cooperativeMatrixRobustBufferAccess
    descriptorBindingInlineUniformBlockUpdateAfterBind descriptorBindingSampledImageUpdateAfterBind
    descriptorBindingStorageBufferUpdateAfterBind descriptorBindingStorageImageUpdateAfterBind
    descriptorBindingStorageTexelBufferUpdateAfterBind descriptorBindingUniformBufferUpdateAfterBind
    descriptorBindingUniformTexelBufferUpdateAfterBind inheritedConditionalRendering privateData
    protectedMemory sparseBinding sparseImageFloat32AtomicAdd sparseImageFloat32AtomicMinMax
    sparseImageFloat32Atomics sparseImageInt64Atomics sparseResidency16Samples sparseResidency2Samples
    sparseResidency4Samples sparseResidency8Samples sparseResidencyAliased sparseResidencyBuffer
    sparseResidencyImage2D sparseResidencyImage3D
"""

#: Features that are never requested: they cost performance, exclude others, or only serve tools.
NOT_ENABLED = frozenset(_NOT_ENABLED.split())


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
    LongVectorEXT CooperativeMatrixReductionsNV CooperativeMatrixConversionsNV
    CooperativeMatrixPerElementOperationsNV CooperativeMatrixTensorAddressingNV
    CooperativeMatrixBlockLoadsNV DescriptorHeapEXT
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
    ReplicatedCompositesEXT UntypedPointersKHR
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
    "SPV_EXT_descriptor_heap": "descriptorHeap",
    "SPV_KHR_untyped_pointers": "shaderUntypedPointers",
    "SPV_EXT_replicated_composites": "shaderReplicatedComposites",
    "SPV_KHR_abort": "shaderAbort",
    "SPV_KHR_relaxed_extended_instruction": "shaderRelaxedExtendedInstruction",
    "SPV_KHR_constant_data": "shaderConstantData",
    "SPV_KHR_fma": "VK_KHR_shader_fma",
    "SPV_KHR_bfloat16": "VK_KHR_shader_bfloat16",
    "SPV_VALVE_mixed_float_dot_product": "VK_VALVE_shader_mixed_float_dot_product",
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
