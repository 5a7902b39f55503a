"""The lists of cooperative matrices of a physical device, also by subgroup size."""

from __future__ import annotations

from typing import Any

from vkgroup.device import vk
from vkgroup.device.capabilities import CooperativeMatrix, SizeControl, Subgroup


def cooperative_matrices(functions: vk.Functions, physical: Any) -> tuple[CooperativeMatrix, ...]:
    """Return the list of vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR."""
    rows = vk.enumerate_all(
        "VkCooperativeMatrixPropertiesKHR",
        lambda count, items: functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(
            physical, count, items
        ),
        "listing cooperative matrices",
    )
    return tuple(
        CooperativeMatrix(
            m=int(row.MSize),
            n=int(row.NSize),
            k=int(row.KSize),
            a_type=_enumerant("VkComponentTypeKHR", row.AType),
            b_type=_enumerant("VkComponentTypeKHR", row.BType),
            c_type=_enumerant("VkComponentTypeKHR", row.CType),
            result_type=_enumerant("VkComponentTypeKHR", row.ResultType),
            saturating=bool(row.saturatingAccumulation),
            scope=_enumerant("VkScopeKHR", row.scope),
        )
        for row in rows
    )


_FUNCTION = "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT"
"""It is newer than the headers of the `vulkan` package, as are its structs; these are laid out here."""
_SIGNATURE = "VkResult(*)(VkPhysicalDevice, const void *, uint32_t *, void *)"
_INFO, _PROPERTIES = 1000659001, 1000659002
"""VkStructureType of the query, and of the properties."""
_SUBGROUP_SCOPE, _SATURATING = 3, 1
_MEMBERS = 7
"""MGranularity, NGranularity, KGranularity, AType, BType, CType and ResultType."""
_INCOMPLETE = 5


def cooperative_matrices_by_size(
    functions: vk.Functions, physical: Any, subgroup: Subgroup, control: SizeControl
) -> dict[str, tuple[CooperativeMatrix, ...]]:
    """Return the lists of VK_EXT_cooperative_matrix_maintenance1 by subgroup size.

    "A value of 0 is used to query matrix properties that are valid for shaders executing with a varying
    subgroup size" (proposal of the extension). The other sizes are those that a pipeline may require.
    """
    sizes = {subgroup.size}
    if control.supported:
        sizes |= {1 << k for k in range(8) if control.min_size <= 1 << k <= control.max_size}
    return {
        str(size): tuple(
            row for flags in (0, _SATURATING) for row in _matrices_of_size(functions, physical, size, flags)
        )
        for size in sorted(sizes | {0})
    }


def _matrices_of_size(
    functions: vk.Functions, physical: Any, size: int, flags: int
) -> list[CooperativeMatrix]:
    """Return the list for a subgroup size, with or without saturating accumulation."""
    function = functions.cast(_FUNCTION, _SIGNATURE)
    pointers = 2 * vk.ffi.sizeof("void *") // 4  # words of sType and pNext
    info = vk.ffi.new("uint64_t[]", 4)
    words = vk.ffi.cast("uint32_t *", info)
    words[0] = _INFO
    words[pointers], words[pointers + 2], words[pointers + 3] = _SUBGROUP_SCOPE, size, flags
    each = pointers + _MEMBERS + _MEMBERS % 2
    count = vk.ffi.new("uint32_t *")
    while True:
        vk.check(function(physical, info, count, vk.NULL), "listing cooperative matrices by size")
        memory = vk.ffi.new("uint64_t[]", max(1, each * count[0] // 2))
        rows = vk.ffi.cast("uint32_t *", memory)
        for number in range(count[0]):
            rows[each * number] = _PROPERTIES
        code = function(physical, info, count, memory)
        vk.check(code, "listing cooperative matrices by size")
        if code != _INCOMPLETE:
            break
    return [
        _row(tuple(rows[each * number + pointers + k] for k in range(_MEMBERS)), flags)
        for number in range(count[0])
    ]


def _row(members: tuple[int, ...], flags: int) -> CooperativeMatrix:
    m, n, k = members[:3]
    a, b, c, result = (_enumerant("VkComponentTypeKHR", value) for value in members[3:])
    return CooperativeMatrix(m, n, k, a, b, c, result, bool(flags & _SATURATING), "SUBGROUP")


#: VkComponentTypeKHR of extensions newer than the package's headers (vk.xml: VK_KHR_shader_bfloat16,
#: VK_NV_cooperative_vector, VK_EXT_shader_float8).
_NEWER_COMPONENT_TYPES = {
    1000141000: "BFLOAT16",
    1000491000: "SINT8_PACKED",
    1000491001: "UINT8_PACKED",
    1000491002: "FLOAT8_E4M3",
    1000491003: "FLOAT8_E5M2",
}


def _enumerant(enumeration: str, value: int) -> str:
    """Return the name of a value in the headers, without prefix and suffix; its number if it is unknown."""
    names = {number: name for name, number in vk.ffi.typeof(enumeration).relements.items()}
    names |= _NEWER_COMPONENT_TYPES
    name = str(names.get(value, value))
    for prefix in ("VK_COMPONENT_TYPE_", "VK_SCOPE_"):
        name = name.removeprefix(prefix)
    return name.removesuffix("_KHR").removesuffix("_NV")
