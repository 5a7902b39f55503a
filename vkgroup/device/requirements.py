"""Requirements of a module on a device, by Vulkan's names.

The tables follow Vulkan 1.4, appendix "Vulkan Environment for SPIR-V".
"""

from __future__ import annotations

from collections.abc import Mapping

from vkgroup.device.capabilities import Capabilities
from vkgroup.device.thread_group import missing_for_thread_group
from vkgroup.spirv import EntryPoint, Module, Reflection, SubgroupUse

#: Requirements of each SPIR-V capability; alternatives are joined by "|".
#: A name is a feature's, or an extension's (VK_…), or a Vulkan version ("1.2"); "" needs nothing.
CAPABILITIES: Mapping[str, str] = {
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
    "GroupNonUniform": "basic",
    "GroupNonUniformVote": "vote",
    "GroupNonUniformArithmetic": "arithmetic",
    "GroupNonUniformBallot": "ballot",
    "GroupNonUniformShuffle": "shuffle",
    "GroupNonUniformShuffleRelative": "shuffle_relative",
    "GroupNonUniformClustered": "clustered",
    "GroupNonUniformQuad": "quad",
    "GroupNonUniformPartitionedNV": "partitioned_nv",
    "GroupNonUniformRotateKHR": "shaderSubgroupRotate",
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

#: Requirements of each SPIR-V extension, in the same notation.
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

_MODES: Mapping[str, str] = {
    "LocalSizeId": "maintenance4",
    "MaximallyReconvergesKHR": "shaderMaximalReconvergence",
    "SubgroupUniformControlFlowKHR": "shaderSubgroupUniformControlFlow",
}

_FLOAT_MODES = {
    "DenormPreserve": "shaderDenormPreserveFloat",
    "DenormFlushToZero": "shaderDenormFlushToZeroFloat",
    "SignedZeroInfNanPreserve": "shaderSignedZeroInfNanPreserveFloat",
    "RoundingModeRTE": "shaderRoundingModeRTEFloat",
    "RoundingModeRTZ": "shaderRoundingModeRTZFloat",
}

#: Scope, value and delta; a cluster size comes after them.
_ROTATE_OPERANDS = 3

#: Extensions that `vkgroup.spirv.lower_legacy` does without.
_LOWERED = frozenset({"VK_EXT_shader_subgroup_ballot", "VK_EXT_shader_subgroup_vote"})

_CATEGORIES = frozenset(
    need for name, need in CAPABILITIES.items() if name.startswith("GroupNonUniform") and need.islower()
)

#: SPIR-V versions by the Vulkan version that takes them.
_VERSIONS = (((1, 3), (1, 6)), ((1, 2), (1, 5)), ((1, 1), (1, 3)), ((1, 0), (1, 0)))


def missing(
    module: Module,
    capabilities: Capabilities,
    entry_point: str | None = None,
    subgroup_size: int | None = None,
) -> list[str]:
    """List what a module needs and a device does not declare, by Vulkan's names.

    Parameters
    ----------
    module : the module.
    capabilities : the device's.
    entry_point : the entry point to be run; None takes the only one.
    subgroup_size : the subgroup size that the pipeline requires; None where it takes the device's.

    Returns
    -------
    One text for each missing feature, extension or version; empty if the device can run the module.

    Raises
    ------
    InvalidModule
        The module has no such entry point.
    """
    reflection = module.reflection
    entry = reflection.entry_point(entry_point)
    needs = _missing_version(module.version, capabilities)
    for name in sorted(reflection.capabilities):
        needs += _unmet(f"SPIR-V capability {name}", CAPABILITIES.get(name), capabilities)
    for name in sorted(reflection.extensions):
        needs += _unmet(name, EXTENSIONS.get(name), capabilities)
    needs += _missing_for_entry(entry, reflection.capabilities, capabilities)
    for use in reflection.subgroup_uses:
        needs += _missing_for_use(use, capabilities)
    needs += _missing_for_rotate(module, capabilities)
    needs += _missing_for_layouts(reflection, capabilities)
    needs += missing_for_thread_group(module, capabilities, subgroup_size)
    needs += _missing_for_stores(reflection, entry, capabilities)
    return list(dict.fromkeys(needs))


def advice(lacking: list[str]) -> str:
    """Return a sentence that says how to do without what `missing` names; "" where there is no way."""
    if _LOWERED.isdisjoint(lacking):
        return ""
    return (
        " Compile with --lower-legacy (in Python: lower_legacy=True, or vkgroup.spirv.lower_legacy(module)) "
        "to use the group instructions of SPIR-V 1.3 in place of the extension's."
    )


def _missing_version(version: tuple[int, int], capabilities: Capabilities) -> list[str]:
    newest = next(spirv for vulkan, spirv in _VERSIONS if capabilities.api_version[:2] >= vulkan)
    if "VK_KHR_spirv_1_4" in capabilities.extensions:
        newest = max(newest, (1, 4))
    if version <= newest:
        return []
    return [
        f"SPIR-V {version[0]}.{version[1]} (the device's Vulkan {capabilities.api_version[0]}."
        f"{capabilities.api_version[1]} takes up to {newest[0]}.{newest[1]})"
    ]


def _unmet(what: str, needs: str | None, capabilities: Capabilities) -> list[str]:
    """Give the need in words where no alternative is met; a name that no table has is never met."""
    if needs is None:
        return [f"{what}, which no Vulkan feature known here enables"]
    if not needs or any(_has(need, capabilities) for need in needs.split("|")):
        return []
    return [" or ".join(_spell(need) for need in needs.split("|"))]


def _has(need: str, capabilities: Capabilities) -> bool:
    if need[0].isdigit():
        major, minor = need.split(".")
        return capabilities.api_version[:2] >= (int(major), int(minor))
    if need.startswith("VK_"):
        return need in capabilities.extensions
    if need in _CATEGORIES:
        return need in capabilities.subgroup.supported_operations
    return need in capabilities.features


def _spell(need: str) -> str:
    if need[0].isdigit():
        return f"Vulkan {need}"
    if need in _CATEGORIES:
        name, vendor = (need[:-3], "_NV") if need.endswith("_nv") else (need, "")
        return f"VK_SUBGROUP_FEATURE_{name.upper()}_BIT{vendor}"
    return need


def _missing_for_entry(entry: EntryPoint, declared: frozenset[str], capabilities: Capabilities) -> list[str]:
    """Return the requirements of the entry point's stage and execution modes."""
    needs = _unmet("task shader", "taskShader", capabilities) if entry.stage == "task" else []
    for mode, literals in entry.execution_modes.items():
        needs += _unmet(mode, _MODES.get(mode, ""), capabilities)
        if mode in _FLOAT_MODES and literals:
            control = f"{_FLOAT_MODES[mode]}{literals[0]}"
            if not capabilities.float_controls.get(control, False):
                needs.append(control)
    uses = any(name.startswith("GroupNonUniform") for name in declared)
    if uses and entry.stage not in capabilities.subgroup.supported_stages:
        needs.append(f"subgroup operations in the {entry.stage} stage (supportedStages)")
    quads = "GroupNonUniformQuad" in declared and entry.stage not in ("compute", "fragment")
    if quads and not capabilities.subgroup.quad_operations_in_all_stages:
        needs.append(f"quadOperationsInAllStages (for the {entry.stage} stage)")
    return needs


def _missing_for_use(use: SubgroupUse, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a subgroup operation beyond its category."""
    needs = []
    kind = use.type
    extended = kind is not None and (kind.bits in (8, 16) or (kind.bits == 64 and kind.kind != "float"))
    if extended and "shaderSubgroupExtendedTypes" not in capabilities.features:
        needs.append("shaderSubgroupExtendedTypes")
    if use.dynamic_id and "subgroupBroadcastDynamicId" not in capabilities.features:
        needs.append("subgroupBroadcastDynamicId")
    return needs


def _missing_for_rotate(module: Module, capabilities: Capabilities) -> list[str]:
    """Return the feature of clustered rotation, which is an operand of the same instruction."""
    if "GroupNonUniformRotateKHR" not in module.reflection.capabilities:
        return []
    clustered = any(
        instruction.name == "OpGroupNonUniformRotateKHR" and len(instruction.operands) > _ROTATE_OPERANDS
        for instruction in module.instructions
    )
    return _unmet("clustered rotation", "shaderSubgroupRotateClustered" if clustered else "", capabilities)


def _missing_for_layouts(reflection: Reflection, capabilities: Capabilities) -> list[str]:
    """Return the requirements of the layouts of blocks, which the validator does not check."""
    needs = []
    push = reflection.push_constants
    layouts = {(binding.kind, binding.layout) for binding in reflection.bindings}
    layouts |= {("push_constants", push.layout)} if push is not None else set()
    if any(layout == "scalar" for _, layout in layouts):
        needs += _unmet("scalar layout", "scalarBlockLayout", capabilities)
    if ("uniform_buffer", "std430") in layouts:
        needs += _unmet("std430 uniform block", "uniformBufferStandardLayout|scalarBlockLayout", capabilities)
    return needs


#: Features that let graphics stages write to memory.
_STORES = dict.fromkeys(
    ("vertex", "tessellation_control", "tessellation_evaluation", "geometry"),
    "vertexPipelineStoresAndAtomics",
) | {"fragment": "fragmentStoresAndAtomics"}


def _missing_for_stores(reflection: Reflection, entry: EntryPoint, capabilities: Capabilities) -> list[str]:
    """Return the requirements of memory that a stage writes (VUID-RuntimeSpirv-NonWritable-06340, 06341)."""
    feature = _STORES.get(entry.stage)
    writes = any(binding.writable for binding in reflection.bindings)
    return [feature] if writes and feature and feature not in capabilities.features else []
