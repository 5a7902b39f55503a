"""What a driver's compiler tells of a pipeline: registers, memory that was spilled to, and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vkgroup.device import vk

if TYPE_CHECKING:
    from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline

CAPTURE = 0x40  # VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR

_VALUES = ("b32", "i64", "u64", "f64")
"""Members of VkPipelineExecutableStatisticValueKHR, by VkPipelineExecutableStatisticFormatKHR."""


def statistics_of(pipeline: VulkanPipeline) -> dict[str, float | int | bool]:
    """Return a compute pipeline's statistics by name; none where the device does not tell.

    The pipeline is made a second time for that, since capturing may cost something.
    """
    device = pipeline.device
    if "pipelineExecutableInfo" not in device.enabled_features:
        return {}
    handle = pipeline.make(CAPTURE)
    try:
        found: dict[str, float | int | bool] = {}
        for index in range(_count(pipeline, handle)):
            for entry in _read(pipeline, handle, index):
                name = vk.ffi.string(entry.name).decode()
                value = getattr(entry.value, _VALUES[entry.format])
                found[name] = bool(value) if entry.format == 0 else value
        return found
    finally:
        device.functions.vkDestroyPipeline(device.handle, handle, vk.NULL)


def _count(pipeline: VulkanPipeline, handle: Any) -> int:
    device = pipeline.device
    info = vk.new("VkPipelineInfoKHR", pipeline=handle)
    count = vk.ffi.new("uint32_t *")
    code = device.functions.vkGetPipelineExecutablePropertiesKHR(device.handle, info, count, vk.NULL)
    device.check(code, "asking for a pipeline's executables")
    return int(count[0])


def _read(pipeline: VulkanPipeline, handle: Any, index: int) -> list[Any]:
    device = pipeline.device
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
