"""Reading the capability model and the feature structs of a physical device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.device import vk
from vkgroup.device.capabilities import (
    Capabilities,
    SizeControl,
    SmBuiltins,
    Subgroup,
    Timestamps,
)
from vkgroup.device.matrices import cooperative_matrices, cooperative_matrices_by_size
from vkgroup.device.profiles import lacking
from vkgroup.spec.categories import OPERATION_BITS
from vkgroup.spec.features import EXTENSIONS, STRUCTS, FeatureStruct, Version
from vkgroup.spec.limits import LIMIT_STRUCTS, PROPERTY_STRUCTS
from vkgroup.spec.stages import STAGE_BITS

_TYPES = {0: "other", 1: "integrated_gpu", 2: "discrete_gpu", 3: "virtual_gpu", 4: "cpu"}
_HEAP_FLAGS = {"device_local": 0x1, "multi_instance": 0x2}


def names_of(flags: int, bits: dict[str, int]) -> tuple[str, ...]:
    """Name the bits that are set in `flags`, in the table's order."""
    return tuple(name for name, bit in bits.items() if flags & bit)


def queue_family(functions: vk.Functions, physical: Any, *, draws: bool = True) -> tuple[int, int] | None:
    """Return index and timestampValidBits of a queue family with compute.

    It has graphics if there is one, or with `draws` false, no graphics if there is one.
    """
    families = _queue_families(functions, physical)
    compute, graphics = vk.VK_QUEUE_COMPUTE_BIT, vk.VK_QUEUE_GRAPHICS_BIT
    able = [(index, family) for index, family in enumerate(families) if family.queueFlags & compute]
    able.sort(key=lambda item: bool(item[1].queueFlags & graphics) != draws)
    return (able[0][0], int(able[0][1].timestampValidBits)) if able else None


def transfer_family(functions: vk.Functions, physical: Any) -> int | None:
    """Return the index of the queue family that can copy and the least besides; None if all can compute."""
    shaders = vk.VK_QUEUE_COMPUTE_BIT | vk.VK_QUEUE_GRAPHICS_BIT
    able = [
        (int(family.queueFlags).bit_count(), index)
        for index, family in enumerate(_queue_families(functions, physical))
        if family.queueFlags & vk.VK_QUEUE_TRANSFER_BIT and not family.queueFlags & shaders
    ]
    return min(able)[1] if able else None


def _queue_families(functions: vk.Functions, physical: Any) -> list[Any]:
    families: list[Any] = vk.enumerate_all(
        "VkQueueFamilyProperties",
        lambda count, items: functions.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, items),
        "listing queue families",
    )
    return families


def read_capabilities(functions: vk.Functions, physical: Any, limit: tuple[int, int, int]) -> Capabilities:
    """Read the capabilities of a VkPhysicalDevice, up to the Vulkan version `limit` of the instance."""
    core = vk.ffi.new("VkPhysicalDeviceProperties *")
    functions.vkGetPhysicalDeviceProperties(physical, core)
    declared = vk.version(core.apiVersion)
    version = declared if declared[:2] <= limit[:2] else limit
    items = vk.enumerate_all(
        "VkExtensionProperties",
        lambda count, items: functions.vkEnumerateDeviceExtensionProperties(physical, vk.NULL, count, items),
        "listing device extensions",
    )
    extensions = {vk.string(item.extensionName): int(item.specVersion) for item in items}
    family = queue_family(functions, physical)
    properties = _read_properties(functions, physical, version, extensions) if version >= (1, 1) else {}
    flags = _read_features(functions, physical, version, extensions)
    driver = properties.get("VkPhysicalDeviceDriverProperties")
    stated = driver.conformanceVersion if driver else None
    conformance = (stated.major, stated.minor, stated.subminor, stated.patch) if stated else ()
    identity = properties.get("VkPhysicalDeviceIDProperties")
    builtins = properties.get("VkPhysicalDeviceShaderSMBuiltinsPropertiesNV")
    matrices = properties.get("VkPhysicalDeviceCooperativeMatrixPropertiesKHR")
    memory = vk.ffi.new("VkPhysicalDeviceMemoryProperties *")
    functions.vkGetPhysicalDeviceMemoryProperties(physical, memory)
    subgroup = _subgroup(properties.get("VkPhysicalDeviceSubgroupProperties"))
    control = _size_control(properties.get("VkPhysicalDeviceSubgroupSizeControlProperties"), flags)
    return Capabilities(
        name=vk.string(core.deviceName),
        type=_TYPES.get(core.deviceType, "other"),
        driver_name=vk.string(driver.driverName) if driver else "",
        driver_info=vk.string(driver.driverInfo) if driver else "",
        api_version=version,
        driver_version=int(core.driverVersion),
        vendor_id=int(core.vendorID),
        device_id=int(core.deviceID),
        uuid=bytes(identity.deviceUUID).hex() if identity else bytes(core.pipelineCacheUUID).hex(),
        conformance_version=".".join(map(str, conformance)) if any(conformance) else "",
        subgroup=subgroup,
        size_control=control,
        timestamps=Timestamps(family[1] if family else 0, float(core.limits.timestampPeriod)),
        features=flags,
        extensions=extensions,
        limits=_limits(core.limits, properties),
        profiles=lacking(functions, physical, declared, limit, extensions) if version >= (1, 1) else {},
        float_controls=_float_controls(properties.get("VkPhysicalDeviceFloatControlsProperties")),
        sm_builtins=SmBuiltins(builtins.shaderSMCount, builtins.shaderWarpsPerSM) if builtins else None,
        cooperative_matrices=cooperative_matrices(functions, physical) if matrices else (),
        cooperative_matrix_stages=(
            names_of(matrices.cooperativeMatrixSupportedStages, STAGE_BITS) if matrices else ()
        ),
        cooperative_matrices_by_size=(
            cooperative_matrices_by_size(functions, physical, subgroup, control)
            if "cooperativeMatrixProperties2EXT" in flags
            else {}
        ),
        memory_heaps=tuple(
            (int(heap.size), names_of(heap.flags, _HEAP_FLAGS))
            for heap in memory.memoryHeaps[0 : memory.memoryHeapCount]
        ),
    )


def _read_properties(
    functions: vk.Functions, physical: Any, version: tuple[int, int, int], extensions: dict[str, int]
) -> dict[str, Any]:
    """Return the property structs that this device supports, filled by the driver, by C name."""
    structs = {
        name: vk.new(name)
        for name, extension, since in PROPERTY_STRUCTS
        if (since is not None and version[:2] >= since) or extension in extensions
    }
    head = vk.new("VkPhysicalDeviceProperties2")
    vk.chain([head, *structs.values()])
    functions.vkGetPhysicalDeviceProperties2(physical, head)
    return structs


def _read_features(
    functions: vk.Functions, physical: Any, version: tuple[int, int, int], extensions: dict[str, int]
) -> frozenset[str]:
    names: set[str] = set()
    if version < (1, 1):
        core = vk.ffi.new("VkPhysicalDeviceFeatures *")
        functions.vkGetPhysicalDeviceFeatures(physical, core)
    else:
        structs = [feature_struct(struct) for struct in usable_structs(version[:2], extensions)]
        head = vk.new("VkPhysicalDeviceFeatures2")
        vk.chain([head, *structs])
        functions.vkGetPhysicalDeviceFeatures2(physical, head)
        core = head.features
        names.update(*(struct.true() for struct in structs))
    names.update(name for name, _ in vk.ffi.typeof("VkPhysicalDeviceFeatures").fields if getattr(core, name))
    return frozenset(names)


def _subgroup(properties: Any) -> Subgroup:
    if not properties:
        return Subgroup()
    return Subgroup(
        size=int(properties.subgroupSize),
        supported_stages=names_of(properties.supportedStages, STAGE_BITS),
        supported_operations=names_of(properties.supportedOperations, OPERATION_BITS),
        quad_operations_in_all_stages=bool(properties.quadOperationsInAllStages),
    )


def _size_control(properties: Any, flags: frozenset[str]) -> SizeControl:
    if not properties:
        return SizeControl()
    return SizeControl(
        supported="subgroupSizeControl" in flags,
        min_size=int(properties.minSubgroupSize),
        max_size=int(properties.maxSubgroupSize),
        max_compute_workgroup_subgroups=int(properties.maxComputeWorkgroupSubgroups),
        required_size_stages=names_of(properties.requiredSubgroupSizeStages, STAGE_BITS),
        compute_full_subgroups="computeFullSubgroups" in flags,
    )


def _limits(limits: Any, properties: dict[str, Any]) -> dict[str, Any]:
    """Turn `VkPhysicalDeviceLimits` into plain values, and add the later limits on sizes."""
    values = {name: _plain(getattr(limits, name)) for name, _ in vk.ffi.typeof(limits).fields}
    for struct in LIMIT_STRUCTS:
        if struct in properties:
            values.update(_members(properties[struct]))
    return values


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, vk.ffi.CData) else value


def _members(struct: Any) -> dict[str, Any]:
    kind = vk.ffi.typeof(struct).item
    return {name: _plain(getattr(struct, name)) for name, _ in kind.fields if name not in ("sType", "pNext")}


def _float_controls(properties: Any) -> dict[str, int | bool]:
    """Return the properties as Booleans, and the two independences as VkShaderFloatControlsIndependence."""
    if not properties:
        return {}
    return {
        name: int(value) if name.endswith("Independence") else bool(value)
        for name, value in _members(properties).items()
    }


def feature_struct(struct: FeatureStruct) -> vk.BoolStruct:
    """Return an empty struct."""
    return vk.BoolStruct(struct.name, struct.fields, struct.structure_type)


def usable_structs(version: Version, extensions: Mapping[str, int]) -> list[FeatureStruct]:
    """List the structs that a device takes."""
    return [struct for struct in STRUCTS if struct.usable(version, extensions)]


def wanted_extensions(structs: list[FeatureStruct], extensions: Mapping[str, int]) -> list[str]:
    """Return the device extensions to enable: those of structs and others that the device has."""
    names = dict.fromkeys([struct.extension for struct in structs] + list(EXTENSIONS))
    return sorted(name for name in names if name in extensions)
