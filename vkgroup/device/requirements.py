"""Requirements of a module that a device does not meet, by Vulkan's names, and of NV_shader_thread_group."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from vkgroup.base.errors import Unsupported
from vkgroup.device.capabilities import Capabilities
from vkgroup.spec.categories import OPERATION_BITS, Category
from vkgroup.spec.limits import LARGEST_WARP
from vkgroup.spec.needs import CAPABILITIES, FLOAT_MODES, MODES, SPIRV_EXTENSIONS, SPIRV_VERSIONS
from vkgroup.spec.stages import QUAD_STAGES, STAGE_NAMES
from vkgroup.spirv import EntryPoint, Module, Reflection, SubgroupUse
from vkgroup.spirv.binary import Instruction
from vkgroup.spirv.editor import source_extensions
from vkgroup.spirv.grammar import grammar

_MEMORIES = {
    **dict.fromkeys(("StorageBuffer", "PhysicalStorageBuffer", "Uniform"), "Buffer"),
    "Workgroup": "Shared",
    "Image": "Image",
}
"""Words in the names of features, by storage class."""

_OPERATIONS = {
    "OpAtomicFAddEXT": "AtomicAdd",
    "OpAtomicFMinEXT": "AtomicMinMax",
    "OpAtomicFMaxEXT": "AtomicMinMax",
}
"""Words in the names of features of floats; ``"Atomics"`` for loads, stores and exchanges."""

EXTENSION = "GL_NV_shader_thread_group"
"""The `OpSourceExtension` of a module that was compiled from a source with the extension."""

_VARYING_SIZES_SINCE = (1, 6)

#: Extensions that `vkgroup.spirv.legacy` does without.
_LOWERED = frozenset({"VK_EXT_shader_subgroup_ballot", "VK_EXT_shader_subgroup_vote"})

#: Scope, value and delta; a cluster size comes after them.
_ROTATE_OPERANDS = 3


def features_of_atomics(module: Module) -> list[str]:
    """Return the features that the atomic instructions of a module need, sorted.

    32-bit integers need none.
    """
    atomics = module.instructions_of(_codes("OpAtomic"))
    if not atomics:
        return []
    declared = {entry.result_id: entry for entry in module.instructions_of(_codes("OpType"))}
    found = set()
    for entry in atomics:
        pointer = declared.get(module.type_of(entry.operands[0]))
        if pointer is not None and pointer.name == "OpTypePointer":
            storage = grammar().enumerant("StorageClass", pointer.operands[0])
            found.add(_feature(entry, _MEMORIES.get(storage, ""), declared.get(pointer.operands[1])))
    return sorted(found - {""})


@cache
def _codes(beginning: str) -> frozenset[int]:
    return frozenset(code for name, code in grammar().opcodes.items() if name.startswith(beginning))


def _feature(entry: Instruction, memory: str, kind: Instruction | None) -> str:
    """Return the feature of an instruction on a type in a kind of memory; "" if it needs none."""
    if not memory or kind is None:
        return ""
    if kind.name == "OpTypeFloat":
        return f"shader{memory}Float{kind.operands[0]}{_OPERATIONS.get(entry.name, 'Atomics')}"
    if kind.name == "OpTypeInt" and kind.operands[0] == 64:
        return f"shader{memory}Int64Atomics"
    return ""


def thread_group_state(capabilities: Capabilities) -> Mapping[str, int | None]:
    """Return WARP_SIZE_NV, WARPS_PER_SM_NV and SM_COUNT_NV ("New Implementation Dependent State") by name.

    The last two are None without ``VK_NV_shader_sm_builtins``.
    """
    builtins = capabilities.sm_builtins
    return {
        "WARP_SIZE_NV": capabilities.subgroup.size,
        "WARPS_PER_SM_NV": builtins.warps_per_sm if builtins else None,
        "SM_COUNT_NV": builtins.sm_count if builtins else None,
    }


def missing_for_thread_group(
    module: Module, capabilities: Capabilities, subgroup_size: int | None = None
) -> list[str]:
    """List the limit on warps that a module breaks at the required subgroup size (None: the device's)."""
    size = subgroup_size
    if size is None:
        size = capabilities.subgroup.size
        if module.version >= _VARYING_SIZES_SINCE:
            # Vulkan 1.3, "Appendix A: SPIR-V 1.6": any size of the device may come without being asked for.
            size = max(size, capabilities.size_control.max_size)
    if size <= LARGEST_WARP or EXTENSION not in source_extensions(module):
        return []
    return [f"subgroups of at most {LARGEST_WARP} invocations, for {EXTENSION} (they may have {size})"]


def missing(
    module: Module,
    capabilities: Capabilities,
    entry_point: str | None = None,
    subgroup_size: int | None = None,
) -> list[str]:
    """Return the requirements of a module that a device lacks, by Vulkan's names; empty if it can run.

    The entry point may be None where the module has only one; `InvalidModule` where it has none of that name.
    The subgroup size is the one that the pipeline requires; None takes the device's.
    """
    reflection = module.reflection
    entry = reflection.entry_point(entry_point)
    needs = _missing_version(module.version, capabilities)
    for name in sorted(reflection.capabilities):
        needs += _unmet(f"SPIR-V capability {name}", CAPABILITIES.get(name), capabilities)
    for name in sorted(reflection.extensions):
        needs += _unmet(name, SPIRV_EXTENSIONS.get(name), capabilities)
    needs += _missing_for_entry(entry, reflection.capabilities, capabilities)
    for use in reflection.subgroup_uses:
        needs += _missing_for_use(use, capabilities)
    if "GroupNonUniformRotateKHR" in reflection.capabilities and any(
        # Clustered rotation is an operand of the same instruction.
        len(instruction.operands) > _ROTATE_OPERANDS
        for instruction in module.instructions_of(_codes("OpGroupNonUniformRotateKHR"))
    ):
        needs += _unmet("clustered rotation", "shaderSubgroupRotateClustered", capabilities)
    for feature in features_of_atomics(module):
        needs += _unmet("atomic instructions", feature, capabilities)
    needs += _missing_for_layouts(reflection, capabilities)
    needs += missing_for_thread_group(module, capabilities, subgroup_size)
    # VUID-RuntimeSpirv-NonWritable-06340, 06341
    stage = STAGE_NAMES.get(entry.stage)
    if stage and stage.store_feature and any(binding.writable for binding in reflection.bindings):
        needs += _unmet("stores", stage.store_feature, capabilities)
    return list(dict.fromkeys(needs))


def advice(lacking: list[str]) -> str:
    """Return a sentence on how to avoid the requirements in `missing`; "" if there is no way."""
    if _LOWERED.isdisjoint(lacking):
        return ""
    return (
        " Compile with --lower-legacy (in Python: lower_legacy=True, or vkgroup.spirv.legacy(module)) "
        "to use the group instructions of SPIR-V 1.3 in place of the extension's."
    )


def require(capabilities: Capabilities, lacking: list[str]) -> None:
    """Raise `Unsupported` if a requirement is missing."""
    if lacking:
        raise Unsupported(f"{capabilities.name} lacks: {'; '.join(lacking)}.{advice(lacking)}", lacking)


def _missing_version(version: tuple[int, int], capabilities: Capabilities) -> list[str]:
    newest = next(spirv for vulkan, spirv in SPIRV_VERSIONS if capabilities.api_version[:2] >= vulkan)
    if "VK_KHR_spirv_1_4" in capabilities.extensions:
        newest = max(newest, (1, 4))
    if version <= newest:
        return []
    return [
        f"SPIR-V {version[0]}.{version[1]} (the device's Vulkan {capabilities.api_version[0]}."
        f"{capabilities.api_version[1]} takes up to {newest[0]}.{newest[1]})"
    ]


def _unmet(what: str, needs: str | None, capabilities: Capabilities) -> list[str]:
    """Return the requirement as text if no alternative is met; unknown names are never met."""
    if needs is None:
        return [f"{what}, which no Vulkan feature known here enables"]
    if not needs or any(_has(need, capabilities) for need in needs.split("|")):
        return []
    features = {category.declared: category.feature for category in Category}
    words = [f"Vulkan {need}" if need[0].isdigit() else features.get(need, need) for need in needs.split("|")]
    return [" or ".join(words)]


def _has(need: str, capabilities: Capabilities) -> bool:
    if need[0].isdigit():
        major, minor = need.split(".")
        return capabilities.api_version[:2] >= (int(major), int(minor))
    if need.startswith("VK_"):
        return need in capabilities.extensions
    if need in OPERATION_BITS:
        return need in capabilities.subgroup.supported_operations
    return need in capabilities.features


def _missing_for_entry(entry: EntryPoint, declared: frozenset[str], capabilities: Capabilities) -> list[str]:
    """Return the requirements of the entry point's stage and execution modes."""
    needs = _unmet("task shader", "taskShader", capabilities) if entry.stage == "task" else []
    for mode, literals in entry.execution_modes.items():
        needs += _unmet(mode, MODES.get(mode, ""), capabilities)
        if mode in FLOAT_MODES and literals:
            control = f"{FLOAT_MODES[mode]}{literals[0]}"
            if not capabilities.float_controls.get(control, False):
                needs.append(control)
    uses = any(name.startswith("GroupNonUniform") for name in declared)
    if uses and entry.stage not in capabilities.subgroup.supported_stages:
        needs.append(f"subgroup operations in the {entry.stage} stage (supportedStages)")
    quads = "GroupNonUniformQuad" in declared and entry.stage not in QUAD_STAGES
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
