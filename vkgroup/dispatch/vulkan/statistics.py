"""Statistics from a driver's compiler about a pipeline: registers, spilled memory and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice

CAPTURE = 0x40  # VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR

_VALUES = ("b32", "i64", "u64", "f64")
"""Members of VkPipelineExecutableStatisticValueKHR, by VkPipelineExecutableStatisticFormatKHR."""


def statistics_of(device: LogicalDevice, make: Callable[[int], Any]) -> dict[str, float | int | bool]:
    """Return a compute pipeline's statistics by name; empty where the device does not report any.

    The pipeline is created a second time for that, since capturing statistics may slow it down.

    Parameters
    ----------
    make : creates the VkPipeline with the given VkPipelineCreateFlags.
    """
    if "pipelineExecutableInfo" not in device.enabled_features:
        return {}
    handle = make(CAPTURE)
    try:
        statistics: dict[str, float | int | bool] = {}
        for index in range(_count(device, handle)):
            for entry in _read(device, handle, index):
                name = vk.ffi.string(entry.name).decode()
                value = getattr(entry.value, _VALUES[entry.format])
                statistics[name] = bool(value) if entry.format == 0 else value
        return statistics
    finally:
        device.functions.vkDestroyPipeline(device.handle, handle, vk.NULL)


def _count(device: LogicalDevice, handle: Any) -> int:
    info = vk.new("VkPipelineInfoKHR", pipeline=handle)
    count = vk.ffi.new("uint32_t *")
    code = device.functions.vkGetPipelineExecutablePropertiesKHR(device.handle, info, count, vk.NULL)
    device.check(code, "asking for a pipeline's executables")
    return int(count[0])


def _read(device: LogicalDevice, handle: Any, index: int) -> list[Any]:
    read = device.functions.vkGetPipelineExecutableStatisticsKHR
    info = vk.new("VkPipelineExecutableInfoKHR", pipeline=handle, executableIndex=index)
    count = vk.ffi.new("uint32_t *")
    device.check(read(device.handle, info, count, vk.NULL), "asking for a pipeline's statistics")
    entries = vk.array(
        "VkPipelineExecutableStatisticKHR",
        [vk.new("VkPipelineExecutableStatisticKHR") for _ in range(count[0])],
    )
    device.check(read(device.handle, info, count, entries), "asking for a pipeline's statistics")
    return list(entries)
