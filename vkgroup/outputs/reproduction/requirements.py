"""Requirements of shaders on a device: version, extensions, features, subgroup operations and stages.

Of several alternatives, such as a version of Vulkan or an extension, the first one is taken that the device
of the case has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from vkgroup.device import Capabilities, vk
from vkgroup.device.query import feature_struct, usable_structs
from vkgroup.device.requirements import features_of_atomics
from vkgroup.spec.categories import OPERATION_BITS
from vkgroup.spec.features import STRUCTS, FeatureStruct, Version
from vkgroup.spec.needs import CAPABILITIES, MODES, SPIRV_EXTENSIONS
from vkgroup.spec.stages import STAGE_NAMES
from vkgroup.spirv import Module

_SPIRV_1_3, _VULKAN_1_2 = (1, 3), (1, 2)


@dataclass
class Requirements:
    """What a device must have, by Vulkan's names."""

    version: Version = (1, 1)
    #: Extension → the version of Vulkan that contains it; None if none does.
    extensions: dict[str, Version | None] = field(default_factory=dict)
    core_features: set[str] = field(default_factory=set)  # members of VkPhysicalDeviceFeatures
    struct_features: dict[FeatureStruct, set[str]] = field(default_factory=dict)  # members of other structs
    operations: int = 0  # VkSubgroupFeatureFlags
    stages: int = 0  # VkShaderStageFlags with subgroup operations


def requirements_of(modules: Sequence[Module], capabilities: Capabilities, size: int | None) -> Requirements:
    """Return the requirements of the shaders of a pipeline; `size` is the required subgroup size, if any.

    Raises
    ------
    KeyError
        A requirement is not known here.
    """
    found = Requirements()
    for need in _needs(modules, size):
        alternatives = need.split("|")
        chosen = next((one for one in alternatives if _has(one, capabilities)), alternatives[0])
        _add(chosen, found, capabilities)
    for module in modules:
        if module.version > _SPIRV_1_3:
            found.version = max(found.version, _VULKAN_1_2)
    return found


def _needs(modules: Sequence[Module], size: int | None) -> Iterator[str]:
    """Yield the requirements in the notation of `vkgroup.spec.needs`."""
    if size is not None:
        yield "subgroupSizeControl"
    for module in modules:
        reflection = module.reflection
        tables = ((reflection.capabilities, CAPABILITIES), (reflection.extensions, SPIRV_EXTENSIONS))
        for names, table in tables:
            yield from (table[name] for name in sorted(names) if table[name])
        yield from features_of_atomics(module)
        for entry in reflection.entry_points:
            stage = STAGE_NAMES[entry.stage]
            yield from (MODES[mode] for mode in entry.execution_modes if mode in MODES)
            yield from stage.features
            if stage.store_feature and any(binding.writable for binding in reflection.bindings):
                yield stage.store_feature
            if any(name.startswith("GroupNonUniform") for name in reflection.capabilities):
                yield f"stage {entry.stage}"
        for use in reflection.subgroup_uses:
            kind = use.type
            if kind is not None and (kind.bits in (8, 16) or (kind.bits == 64 and kind.kind != "float")):
                yield "shaderSubgroupExtendedTypes"
            if use.dynamic_id:
                yield "subgroupBroadcastDynamicId"


def _has(need: str, capabilities: Capabilities) -> bool:
    if need[0].isdigit():
        return capabilities.api_version[:2] >= _version(need)
    if need.startswith("VK_"):
        return need in capabilities.extensions
    if need in OPERATION_BITS:
        return need in capabilities.subgroup.supported_operations
    return need in capabilities.features


def _version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)


def _add(need: str, found: Requirements, capabilities: Capabilities) -> None:
    """Add one requirement."""
    if need[0].isdigit():
        found.version = max(found.version, _version(need))
    elif need.startswith("VK_"):
        found.extensions.setdefault(need, None)
    elif need in OPERATION_BITS:
        found.operations |= OPERATION_BITS[need]
    elif need.startswith("stage "):
        found.stages |= STAGE_NAMES[need.removeprefix("stage ")].bit
    elif need in core_features():
        found.core_features.add(need)
    else:
        struct = _struct_of(need, capabilities)
        found.struct_features.setdefault(struct, set()).add(need)
        if struct.core is not None and capabilities.api_version[:2] >= struct.core and not struct.extension:
            found.version = max(found.version, struct.core)
        else:
            found.extensions[struct.extension] = struct.core or struct.replaced


@cache
def core_features() -> frozenset[str]:
    """Return the members of VkPhysicalDeviceFeatures."""
    return frozenset(name for name, _ in vk.ffi.typeof("VkPhysicalDeviceFeatures").fields)


def _struct_of(feature: str, capabilities: Capabilities) -> FeatureStruct:
    """Return the struct that a device has a feature in; KeyError if no struct has it."""
    usable = usable_structs(capabilities.api_version[:2], capabilities.extensions)
    candidates: Iterable[FeatureStruct] = (*usable, *STRUCTS)
    for struct in candidates:
        if feature in feature_struct(struct).fields:
            return struct
    raise KeyError(feature)
