"""Vulkan's feature structs and extensions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

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
    #: `fields`, `structure_type`: for structs that the headers of the `vulkan` package lack. Members with the
    #: name of another struct's end with their vendor, as in the names of Vulkan's document and of vk.xml.
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
        "CooperativeMatrixMaintenance1",
        "VK_EXT_cooperative_matrix_maintenance1",
        1000659000,
        """
            cooperativeMatrixProperties2EXT cooperativeMatrixReductionsEXT cooperativeMatrixConversionsEXT
            cooperativeMatrixPerElementOperationsEXT cooperativeMatrixGetCoordinateEXT
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
    VK_GOOGLE_hlsl_functionality1 VK_GOOGLE_user_type VK_KHR_deferred_host_operations VK_KHR_device_fault
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
