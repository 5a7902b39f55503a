"""Queries of a pipeline's executables (VK_KHR_pipeline_executable_properties)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.statistics import Executable, Representation, Value
from vkgroup.spec.stages import STAGE_BITS

_VALUES = ("b32", "i64", "u64", "f64")
"""Members of VkPipelineExecutableStatisticValueKHR, by VkPipelineExecutableStatisticFormatKHR."""

# VkPipelineCreateFlagBits.
_CAPTURE_STATISTICS, _CAPTURE_REPRESENTATIONS = 0x40, 0x80

_FEATURE = "pipelineExecutableInfo"

_WHAT = "querying the executables of a pipeline"


def executables_of(
    device: LogicalDevice, make: Callable[[int], Any], *, representations: bool = False
) -> tuple[Executable, ...]:
    """Return the executables of a pipeline; none where the device does not report any.

    `make` creates the VkPipeline a second time with the given VkPipelineCreateFlags, since capturing
    statistics may slow it down. `representations`: whether to read the code, too.
    """
    if _FEATURE not in device.enabled_features:
        return ()
    handle = make(_CAPTURE_STATISTICS | _CAPTURE_REPRESENTATIONS * representations)
    try:
        return _executables(device, handle, representations=representations)
    finally:
        device.destroy("Pipeline", handle)


def capturing(device: LogicalDevice, make: Callable[[int], Any]) -> Any:
    """Create a pipeline; if `device.captured` is a list, append its executables, with statistics."""
    if device.captured is None or _FEATURE not in device.enabled_features:
        return make(0)
    handle = make(_CAPTURE_STATISTICS)
    device.captured += _executables(device, handle, representations=False)
    return handle


def _executables(device: LogicalDevice, handle: Any, *, representations: bool) -> tuple[Executable, ...]:
    """Return the executables of a pipeline that was created with the flags that capture them."""
    info = vk.new("VkPipelineInfoKHR", pipeline=handle)
    query = device.functions.vkGetPipelineExecutablePropertiesKHR
    properties = _listed(device, "VkPipelineExecutablePropertiesKHR", query, info)
    return tuple(
        Executable(
            vk.string(entry.name),
            tuple(stage for stage, bit in STAGE_BITS.items() if entry.stages & bit),
            int(entry.subgroupSize),
            _statistics(device, handle, index),
            _representations(device, handle, index) if representations else (),
        )
        for index, entry in enumerate(properties)
    )


def _statistics(device: LogicalDevice, handle: Any, index: int) -> dict[str, Value]:
    info = vk.new("VkPipelineExecutableInfoKHR", pipeline=handle, executableIndex=index)
    query = device.functions.vkGetPipelineExecutableStatisticsKHR
    statistics: dict[str, Value] = {}
    for entry in _listed(device, "VkPipelineExecutableStatisticKHR", query, info):
        value = getattr(entry.value, _VALUES[entry.format])
        statistics[vk.string(entry.name)] = bool(value) if entry.format == 0 else value
    return statistics


def _representations(device: LogicalDevice, handle: Any, index: int) -> tuple[Representation, ...]:
    info = vk.new("VkPipelineExecutableInfoKHR", pipeline=handle, executableIndex=index)
    query = device.functions.vkGetPipelineExecutableInternalRepresentationsKHR
    entries = _listed(device, "VkPipelineExecutableInternalRepresentationKHR", query, info)
    if not len(entries):
        return ()
    # The first query returned the sizes; a second one with memory returns the code.
    texts = [vk.ffi.new("char[]", int(entry.dataSize) + 1) for entry in entries]
    for entry, text in zip(entries, texts, strict=True):
        entry.pData = text
    device.check(query(device.handle, info, vk.ffi.new("uint32_t *", len(entries)), entries), _WHAT)
    return tuple(
        Representation(
            vk.string(entry.name), vk.ffi.string(text).decode("utf-8", "replace") if entry.isText else ""
        )
        for entry, text in zip(entries, texts, strict=True)
    )


def _listed(device: LogicalDevice, kind: str, query: Callable[..., int], info: Any) -> Any:
    """Return the array of structs that a query with a count and an array fills.

    Its elements do not keep the array's memory alive, so it must be held while they are used.
    """
    count = vk.ffi.new("uint32_t *")
    device.check(query(device.handle, info, count, vk.NULL), _WHAT)
    entries = vk.array(kind, [vk.new(kind) for _ in range(count[0])])
    device.check(query(device.handle, info, count, entries), _WHAT)
    return entries
