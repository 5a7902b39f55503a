"""Capabilities of the reference device: everything that the interpreter executes, and limits."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from vkgroup.base.errors import Unsupported
from vkgroup.device.capabilities import Capabilities, CooperativeMatrix, DeviceInfo, SizeControl, Subgroup
from vkgroup.spec.categories import OPERATION_BITS
from vkgroup.spec.limits import QUAD_SIZE, SUBGROUP_SIZES
from vkgroup.spec.needs import FLOAT_MODES

DRIVER_NAME = "vkgroup"
"""`Capabilities.driver_name` of the reference device, and of no other."""

DEFAULT_SIZE = 32
SIZES = SUBGROUP_SIZES
"""Subgroup sizes that the reference device can have."""

MIN_SIZE, MAX_SIZE = SIZES[0], SIZES[-1]

_MOST_INVOCATIONS = 1024

_STAGES = ("vertex", "fragment", "compute")

# The device has no geometry shaders, but gl_PrimitiveID in fragment shaders requires this feature.
_FEATURES = """
    shaderInt8 shaderInt16 shaderInt64 shaderFloat16 shaderFloat64
    storageBuffer8BitAccess uniformAndStorageBuffer8BitAccess storagePushConstant8
    storageBuffer16BitAccess uniformAndStorageBuffer16BitAccess storagePushConstant16
    scalarBlockLayout uniformBufferStandardLayout
    robustBufferAccess robustBufferAccess2 robustImageAccess robustImageAccess2
    bufferDeviceAddress
    vulkanMemoryModel vulkanMemoryModelDeviceScope vulkanMemoryModelAvailabilityVisibilityChains
    shaderZeroInitializeWorkgroupMemory
    maintenance4
    subgroupSizeControl computeFullSubgroups subgroupBroadcastDynamicId shaderSubgroupExtendedTypes
    shaderSubgroupRotate shaderSubgroupRotateClustered
    shaderSubgroupClock shaderDeviceClock shaderIntegerDotProduct
    shaderMaximalReconvergence shaderSubgroupUniformControlFlow
    shaderBufferInt64Atomics shaderSharedInt64Atomics
    shaderBufferFloat16Atomics shaderBufferFloat16AtomicAdd shaderBufferFloat16AtomicMinMax
    shaderSharedFloat16Atomics shaderSharedFloat16AtomicAdd shaderSharedFloat16AtomicMinMax
    shaderBufferFloat32Atomics shaderBufferFloat32AtomicAdd shaderBufferFloat32AtomicMinMax
    shaderSharedFloat32Atomics shaderSharedFloat32AtomicAdd shaderSharedFloat32AtomicMinMax
    shaderImageFloat32Atomics shaderImageFloat32AtomicAdd shaderImageFloat32AtomicMinMax
    shaderBufferFloat64Atomics shaderBufferFloat64AtomicAdd shaderBufferFloat64AtomicMinMax
    shaderSharedFloat64Atomics shaderSharedFloat64AtomicAdd shaderSharedFloat64AtomicMinMax
    shaderUniformBufferArrayDynamicIndexing shaderUniformBufferArrayNonUniformIndexing
    shaderStorageBufferArrayDynamicIndexing shaderStorageBufferArrayNonUniformIndexing
    shaderSampledImageArrayDynamicIndexing shaderSampledImageArrayNonUniformIndexing
    shaderStorageImageArrayDynamicIndexing shaderStorageImageArrayNonUniformIndexing
    shaderUniformTexelBufferArrayDynamicIndexing shaderStorageTexelBufferArrayDynamicIndexing
    shaderUniformTexelBufferArrayNonUniformIndexing shaderStorageTexelBufferArrayNonUniformIndexing
    shaderImageInt64Atomics
    shaderStorageImageExtendedFormats
    shaderStorageImageReadWithoutFormat shaderStorageImageWriteWithoutFormat
    shaderImageGatherExtended imageCubeArray samplerMirrorClampToEdge
    vertexPipelineStoresAndAtomics fragmentStoresAndAtomics sampleRateShading
    shaderDemoteToHelperInvocation shaderTerminateInvocation shaderDrawParameters shaderQuadControl
    computeDerivativeGroupQuads computeDerivativeGroupLinear
    shaderClipDistance shaderCullDistance largePoints geometryShader
    cooperativeMatrix shaderBFloat16Type shaderBFloat16CooperativeMatrix longVector
    cooperativeMatrixReductions cooperativeMatrixConversions cooperativeMatrixPerElementOperations
    cooperativeMatrixReductionsEXT cooperativeMatrixConversionsEXT cooperativeMatrixPerElementOperationsEXT
    cooperativeMatrixGetCoordinateEXT cooperativeMatrixProperties2EXT
    shaderFloat8 shaderFloat8CooperativeMatrix
    shaderMixedFloatDotProductFloat16AccFloat32 shaderMixedFloatDotProductFloat16AccFloat16
    shaderMixedFloatDotProductBFloat16Acc
    workgroupMemoryExplicitLayout workgroupMemoryExplicitLayoutScalarBlockLayout
    workgroupMemoryExplicitLayout8BitAccess workgroupMemoryExplicitLayout16BitAccess
    shaderSplitBarrier shaderAbort shaderConstantData shaderReplicatedComposites
    shaderFmaFloat16 shaderFmaFloat32 shaderFmaFloat64 shaderRelaxedExtendedInstruction
    variablePointers variablePointersStorageBuffer shaderUntypedPointers shader64BitIndexing
"""

_EXTENSIONS = """
    VK_EXT_shader_atomic_float VK_EXT_shader_atomic_float2 VK_EXT_shader_image_atomic_int64
    VK_EXT_shader_long_vector VK_EXT_shader_subgroup_ballot VK_EXT_shader_subgroup_vote
    VK_GOOGLE_decorate_string VK_GOOGLE_hlsl_functionality1 VK_GOOGLE_user_type VK_KHR_cooperative_matrix
    VK_KHR_shader_bfloat16 VK_KHR_compute_shader_derivatives VK_KHR_shader_clock
    VK_KHR_shader_integer_dot_product VK_KHR_shader_maximal_reconvergence VK_KHR_shader_quad_control
    VK_KHR_shader_subgroup_rotate VK_KHR_shader_subgroup_uniform_control_flow
    VK_NV_shader_subgroup_partitioned VK_VALVE_shader_mixed_float_dot_product
    VK_KHR_workgroup_memory_explicit_layout VK_EXT_shader_split_barrier VK_KHR_shader_abort
    VK_KHR_shader_constant_data VK_EXT_shader_replicated_composites VK_KHR_shader_fma
    VK_KHR_shader_relaxed_extended_instruction VK_EXT_cooperative_matrix_maintenance1
    VK_NV_cooperative_matrix2 VK_EXT_shader_float8 VK_KHR_shader_untyped_pointers
    VK_EXT_shader_64bit_indexing
"""

# Shapes and types as GPUs of several vendors list them; every subgroup size divides the elements evenly.
_MATRICES = tuple(
    CooperativeMatrix(m, n, k, a, b, c, result, saturating, "SUBGROUP")
    for m, n, k, a, b, c, result, saturating in (
        (16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32", False),
        (16, 8, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32", False),
        (16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT16", "FLOAT16", False),
        (16, 16, 16, "BFLOAT16", "BFLOAT16", "FLOAT32", "FLOAT32", False),
        (16, 16, 16, "BFLOAT16", "BFLOAT16", "BFLOAT16", "BFLOAT16", False),
        (16, 16, 32, "FLOAT8_E4M3", "FLOAT8_E4M3", "FLOAT32", "FLOAT32", False),
        (16, 16, 32, "FLOAT8_E4M3", "FLOAT8_E5M2", "FLOAT32", "FLOAT32", False),
        (16, 16, 32, "FLOAT8_E5M2", "FLOAT8_E5M2", "FLOAT32", "FLOAT32", False),
        (16, 8, 16, "FLOAT32", "FLOAT32", "FLOAT32", "FLOAT32", False),
        (16, 16, 32, "UINT8", "UINT8", "UINT32", "UINT32", False),
        (16, 16, 32, "SINT8", "SINT8", "SINT32", "SINT32", False),
        (16, 16, 32, "SINT8", "SINT8", "SINT32", "SINT32", True),
        (16, 16, 32, "UINT8", "SINT8", "SINT32", "SINT32", False),
        (16, 16, 32, "UINT8", "UINT8", "UINT32", "UINT32", True),
        (16, 8, 16, "SINT16", "SINT16", "SINT32", "SINT32", False),
    )
)

# Limits without a cost are larger than those of most GPUs. Workgroup sizes and ranges are those of the
# best GPUs, so that a shader that runs here has a device to run on.
_LIMITS: dict[str, Any] = {
    "maxComputeWorkGroupCount": (2**31 - 1, 65535, 65535),
    "maxComputeWorkGroupSize": (_MOST_INVOCATIONS, _MOST_INVOCATIONS, _MOST_INVOCATIONS),
    "maxComputeWorkGroupInvocations": _MOST_INVOCATIONS,
    "maxComputeSharedMemorySize": 1 << 16,
    "maxPushConstantsSize": 256,
    "maxStorageBufferRange": 2**32 - 1,
    "maxUniformBufferRange": 1 << 16,
    "maxTexelBufferElements": 2**32 - 1,
    "maxBufferSize": 1 << 40,
    "maxBoundDescriptorSets": 32,
    **{
        f"max{scope}{kind}": 1 << 20
        for scope in ("PerStageDescriptor", "DescriptorSet")
        for kind in ("StorageBuffers", "UniformBuffers", "StorageImages", "SampledImages", "Samplers")
    },
    "maxPerStageDescriptorInputAttachments": 0,
    "maxDescriptorSetInputAttachments": 0,
    "maxImageDimension1D": 1 << 14,
    "maxImageDimension2D": 1 << 14,
    "maxImageDimension3D": 1 << 11,
    "maxImageDimensionCube": 1 << 14,
    "maxImageArrayLayers": 1 << 11,
    "maxFramebufferWidth": 1 << 14,
    "maxFramebufferHeight": 1 << 14,
    "maxColorAttachments": 8,
    "framebufferColorSampleCounts": 15,
    "framebufferDepthSampleCounts": 15,
    "framebufferNoAttachmentsSampleCounts": 15,
    "subPixelPrecisionBits": 8,
    "strictLines": True,
    "standardSampleLocations": True,
    "pointSizeRange": (0.0, 1024.0),
    "lineWidthRange": (1.0, 1.0),
    "minTexelOffset": -32,
    "maxTexelOffset": 31,
    "minTexelGatherOffset": -32,
    "maxTexelGatherOffset": 31,
}

# NumPy keeps denormals, signed zeros, infinities and NaN, and rounds to nearest even.
_FLOAT_CONTROLS: dict[str, int | bool] = {
    "denormBehaviorIndependence": 2,
    "roundingModeIndependence": 2,
    **{
        f"{member}{width}": mode in ("DenormPreserve", "SignedZeroInfNanPreserve", "RoundingModeRTE")
        for mode, member in FLOAT_MODES.items()
        for width in (16, 32, 64)
    },
}


def capabilities_of(subgroup_size: int = DEFAULT_SIZE) -> Capabilities:
    """Return the capabilities of the reference device of a subgroup size.

    Raises
    ------
    Unsupported
        The size is no power of two from 1 to 128.
    """
    size = subgroup_size
    if size not in SIZES:
        raise Unsupported(
            f"The reference device has no subgroup size of {size}; give a power of two from {MIN_SIZE} to"
            f" {MAX_SIZE}.",
            [f"a subgroup size of {size} (powers of two from {MIN_SIZE} to {MAX_SIZE})"],
        )
    return Capabilities(
        name=f"vkgroup reference, subgroups of {size}",
        type="cpu",
        driver_name=DRIVER_NAME,
        driver_info=f"{version('vkgroup')}, NumPy {version('numpy')}",
        api_version=(1, 3, 0),
        subgroup=Subgroup(
            size,
            # The quads of fragments are in one subgroup.
            tuple(stage for stage in _STAGES if size >= QUAD_SIZE or stage != "fragment"),
            tuple(OPERATION_BITS),
            quad_operations_in_all_stages=True,
        ),
        size_control=SizeControl(
            supported=True,
            min_size=MIN_SIZE,
            max_size=MAX_SIZE,
            max_compute_workgroup_subgroups=_MOST_INVOCATIONS,
            required_size_stages=_STAGES,
            compute_full_subgroups=True,
        ),
        features=frozenset(_FEATURES.split()),
        extensions=dict.fromkeys(_EXTENSIONS.split(), 1),
        limits=_LIMITS,
        float_controls=_FLOAT_CONTROLS,
        cooperative_matrices=_MATRICES,
        cooperative_matrices_by_size={str(each): _MATRICES for each in (0, *SIZES)},
        cooperative_matrix_stages=("compute",),
        memory_heaps=_memory(),
    )


def _memory() -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the machine's memory as a heap; none if the system does not report it."""
    try:
        return ((os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), ()),)
    except (AttributeError, ValueError, OSError):
        return ()


def info_of(subgroup_size: int = DEFAULT_SIZE, model: tuple[str, ...] = ()) -> DeviceInfo:
    """Return the description by which any process can open the reference device of a size and a model."""
    return replace(DeviceInfo.of("", "reference", 0, capabilities_of(subgroup_size)), model=model)
