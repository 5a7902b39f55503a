"""Feature structs and extensions that vkgroup reads, and enables where a device has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from vkgroup.device import vk

Version = tuple[int, int]


@dataclass(frozen=True)
class FeatureStruct:
    """One struct of features.

    Attributes
    ----------
    name : its C name.
    extension : the extension that brings it; empty where only a core version does.
    core : the Vulkan version that has it in its core; None where none does.
    replaced : the version from which on a struct of the core says the same, so that both together
        would be wrong (VUID-VkDeviceCreateInfo-pNext-02829 and following).
    fields, structure_type : for structs that the headers of the `vulkan` package are too old for.
    """

    name: str
    extension: str = ""
    core: Version | None = None
    replaced: Version | None = None
    fields: tuple[str, ...] | None = None
    structure_type: int | None = None

    def usable(self, version: Version, extensions: Collection[str]) -> bool:
        """Whether a device of this version with these extensions takes the struct."""
        if self.replaced is not None and version >= self.replaced:
            return False
        return (self.core is not None and version >= self.core) or self.extension in extensions

    def make(self) -> vk.BoolStruct:
        """Make an empty one."""
        return vk.BoolStruct(self.name, self.fields, self.structure_type)


_V11, _V12, _V13, _V14 = (1, 1), (1, 2), (1, 3), (1, 4)

STRUCTS: tuple[FeatureStruct, ...] = (
    FeatureStruct("VkPhysicalDeviceVulkan11Features", core=_V12),
    FeatureStruct("VkPhysicalDeviceVulkan12Features", core=_V12),
    FeatureStruct("VkPhysicalDeviceVulkan13Features", core=_V13),
    FeatureStruct("VkPhysicalDeviceMeshShaderFeaturesEXT", "VK_EXT_mesh_shader"),
    FeatureStruct("VkPhysicalDeviceAccelerationStructureFeaturesKHR", "VK_KHR_acceleration_structure"),
    FeatureStruct("VkPhysicalDeviceRayTracingPipelineFeaturesKHR", "VK_KHR_ray_tracing_pipeline"),
    FeatureStruct("VkPhysicalDeviceRayQueryFeaturesKHR", "VK_KHR_ray_query"),
    FeatureStruct("VkPhysicalDevice16BitStorageFeatures", "VK_KHR_16bit_storage", _V11, _V12),
    FeatureStruct("VkPhysicalDeviceVariablePointersFeatures", "VK_KHR_variable_pointers", _V11, _V12),
    FeatureStruct("VkPhysicalDevice8BitStorageFeatures", "VK_KHR_8bit_storage", None, _V12),
    FeatureStruct("VkPhysicalDeviceShaderFloat16Int8Features", "VK_KHR_shader_float16_int8", None, _V12),
    FeatureStruct("VkPhysicalDeviceShaderAtomicInt64Features", "VK_KHR_shader_atomic_int64", None, _V12),
    FeatureStruct(
        "VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures",
        "VK_KHR_shader_subgroup_extended_types",
        None,
        _V12,
    ),
    FeatureStruct("VkPhysicalDeviceVulkanMemoryModelFeatures", "VK_KHR_vulkan_memory_model", None, _V12),
    FeatureStruct("VkPhysicalDeviceScalarBlockLayoutFeatures", "VK_EXT_scalar_block_layout", None, _V12),
    FeatureStruct(
        "VkPhysicalDeviceUniformBufferStandardLayoutFeatures",
        "VK_KHR_uniform_buffer_standard_layout",
        None,
        _V12,
    ),
    FeatureStruct("VkPhysicalDeviceBufferDeviceAddressFeatures", "VK_KHR_buffer_device_address", None, _V12),
    FeatureStruct("VkPhysicalDeviceDescriptorIndexingFeatures", "VK_EXT_descriptor_indexing", None, _V12),
    FeatureStruct("VkPhysicalDeviceSubgroupSizeControlFeatures", "VK_EXT_subgroup_size_control", None, _V13),
    FeatureStruct(
        "VkPhysicalDeviceShaderDemoteToHelperInvocationFeatures",
        "VK_EXT_shader_demote_to_helper_invocation",
        None,
        _V13,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderTerminateInvocationFeatures",
        "VK_KHR_shader_terminate_invocation",
        None,
        _V13,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderIntegerDotProductFeatures", "VK_KHR_shader_integer_dot_product", None, _V13
    ),
    FeatureStruct(
        "VkPhysicalDeviceZeroInitializeWorkgroupMemoryFeatures",
        "VK_KHR_zero_initialize_workgroup_memory",
        None,
        _V13,
    ),
    FeatureStruct("VkPhysicalDeviceMaintenance4Features", "VK_KHR_maintenance4", None, _V13),
    FeatureStruct(
        "VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR",
        "VK_KHR_shader_subgroup_uniform_control_flow",
    ),
    FeatureStruct(
        "VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR",
        "VK_KHR_workgroup_memory_explicit_layout",
    ),
    FeatureStruct("VkPhysicalDeviceShaderClockFeaturesKHR", "VK_KHR_shader_clock"),
    FeatureStruct("VkPhysicalDeviceShaderAtomicFloatFeaturesEXT", "VK_EXT_shader_atomic_float"),
    FeatureStruct("VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT", "VK_EXT_shader_atomic_float2"),
    FeatureStruct("VkPhysicalDeviceShaderImageAtomicInt64FeaturesEXT", "VK_EXT_shader_image_atomic_int64"),
    FeatureStruct("VkPhysicalDeviceShaderSMBuiltinsFeaturesNV", "VK_NV_shader_sm_builtins"),
    FeatureStruct("VkPhysicalDeviceCooperativeMatrixFeaturesKHR", "VK_KHR_cooperative_matrix"),
    FeatureStruct("VkPhysicalDeviceConditionalRenderingFeaturesEXT", "VK_EXT_conditional_rendering"),
    FeatureStruct(
        "VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR", "VK_KHR_pipeline_executable_properties"
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderSubgroupRotateFeatures",
        "VK_KHR_shader_subgroup_rotate",
        _V14,
        None,
        ("shaderSubgroupRotate", "shaderSubgroupRotateClustered"),
        1000416000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderSubgroupPartitionedFeaturesEXT",
        "VK_EXT_shader_subgroup_partitioned",
        None,
        None,
        ("shaderSubgroupPartitioned",),
        1000662000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderFloatControls2Features",
        "VK_KHR_shader_float_controls2",
        _V14,
        None,
        ("shaderFloatControls2",),
        1000528000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderExpectAssumeFeatures",
        "VK_KHR_shader_expect_assume",
        _V14,
        None,
        ("shaderExpectAssume",),
        1000544000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR",
        "VK_KHR_shader_maximal_reconvergence",
        None,
        None,
        ("shaderMaximalReconvergence",),
        1000434000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderQuadControlFeaturesKHR",
        "VK_KHR_shader_quad_control",
        None,
        None,
        ("shaderQuadControl",),
        1000235000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderBfloat16FeaturesKHR",
        "VK_KHR_shader_bfloat16",
        None,
        None,
        ("shaderBFloat16Type", "shaderBFloat16DotProduct", "shaderBFloat16CooperativeMatrix"),
        1000141000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceShaderLongVectorFeaturesEXT",
        "VK_EXT_shader_long_vector",
        None,
        None,
        ("longVector",),
        1000635000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceComputeShaderDerivativesFeaturesKHR",
        "VK_KHR_compute_shader_derivatives",
        None,
        None,
        ("computeDerivativeGroupQuads", "computeDerivativeGroupLinear"),
        1000201000,
    ),
    FeatureStruct(
        "VkPhysicalDeviceCooperativeMatrix2FeaturesNV",
        "VK_NV_cooperative_matrix2",
        None,
        None,
        (
            "cooperativeMatrixWorkgroupScope",
            "cooperativeMatrixFlexibleDimensions",
            "cooperativeMatrixReductions",
            "cooperativeMatrixConversions",
            "cooperativeMatrixPerElementOperations",
            "cooperativeMatrixTensorAddressing",
            "cooperativeMatrixBlockLoads",
        ),
        1000593000,
    ),
    FeatureStruct(
        "VkPhysicalDevicePortabilitySubsetFeaturesKHR",
        "VK_KHR_portability_subset",
        None,
        None,
        (
            "constantAlphaColorBlendFactors",
            "events",
            "imageViewFormatReinterpretation",
            "imageViewFormatSwizzle",
            "imageView2DOn3DImage",
            "multisampleArrayImage",
            "mutableComparisonSamplers",
            "pointPolygons",
            "samplerMipLodBias",
            "separateStencilMaskRef",
            "shaderSampleRateInterpolationFunctions",
            "tessellationIsolines",
            "tessellationPointMode",
            "triangleFans",
            "vertexAttributeAccessBeyondStride",
        ),
        1000163000,
    ),
)

#: Extensions without feature struct that modules or `vkgroup.device.sharing` may need; enabled where present.
EXTENSIONS: tuple[str, ...] = (
    "VK_EXT_shader_subgroup_ballot",
    "VK_EXT_shader_subgroup_vote",
    "VK_GOOGLE_decorate_string",
    "VK_GOOGLE_hlsl_functionality1",
    "VK_GOOGLE_user_type",
    "VK_KHR_deferred_host_operations",
    "VK_KHR_external_memory_fd",
    "VK_KHR_shader_float_controls",
    "VK_KHR_shader_non_semantic_info",
    "VK_KHR_spirv_1_4",
    "VK_NV_shader_subgroup_partitioned",
)

#: Features that keep accesses inside their buffers and images.
ROBUSTNESS = frozenset(
    {
        "robustBufferAccess",
        "robustBufferAccess2",
        "robustImageAccess",
        "robustImageAccess2",
        "pipelineRobustness",
    }
)

#: Features that cost something, exclude others, or only serve tools and are never asked for.
NOT_ENABLED = frozenset(
    {
        "accelerationStructureCaptureReplay",
        "accelerationStructureHostCommands",
        "accelerationStructureIndirectBuild",
        "descriptorBindingAccelerationStructureUpdateAfterBind",
        "rayTracingPipelineShaderGroupHandleCaptureReplay",
        "rayTracingPipelineShaderGroupHandleCaptureReplayMixed",
        "rayTracingPipelineTraceRaysIndirect",
        "meshShaderQueries",
        "multiviewMeshShader",
        "primitiveFragmentShadingRateMeshShader",
        "bufferDeviceAddressCaptureReplay",
        "bufferDeviceAddressMultiDevice",
        "cooperativeMatrixRobustBufferAccess",
        "descriptorBindingInlineUniformBlockUpdateAfterBind",
        "descriptorBindingSampledImageUpdateAfterBind",
        "descriptorBindingStorageBufferUpdateAfterBind",
        "descriptorBindingStorageImageUpdateAfterBind",
        "descriptorBindingStorageTexelBufferUpdateAfterBind",
        "descriptorBindingUniformBufferUpdateAfterBind",
        "descriptorBindingUniformTexelBufferUpdateAfterBind",
        "inheritedConditionalRendering",
        "privateData",
        "protectedMemory",
        "sparseBinding",
        "sparseImageFloat32AtomicAdd",
        "sparseImageFloat32AtomicMinMax",
        "sparseImageFloat32Atomics",
        "sparseImageInt64Atomics",
        "sparseResidency16Samples",
        "sparseResidency2Samples",
        "sparseResidency4Samples",
        "sparseResidency8Samples",
        "sparseResidencyAliased",
        "sparseResidencyBuffer",
        "sparseResidencyImage2D",
        "sparseResidencyImage3D",
    }
)


def usable_structs(version: Version, extensions: Mapping[str, int]) -> list[FeatureStruct]:
    """List the structs that a device takes."""
    return [struct for struct in STRUCTS if struct.usable(version, extensions)]


def wanted_extensions(structs: list[FeatureStruct], extensions: Mapping[str, int]) -> list[str]:
    """List the device extensions to enable: each struct's, and the plain ones; only those it has."""
    names = dict.fromkeys([struct.extension for struct in structs] + list(EXTENSIONS))
    return sorted(name for name in names if name in extensions)
