"""Compute pipelines of Vulkan."""

from __future__ import annotations

from typing import Any

from vkgroup.device import vk
from vkgroup.dispatch.pipeline import Pipeline
from vkgroup.dispatch.vulkan.bound import VulkanBound
from vkgroup.dispatch.vulkan.layouts import VulkanLayouts, stage_info
from vkgroup.dispatch.vulkan.statistics import statistics_of


class VulkanPipeline(VulkanLayouts, Pipeline):
    """A VkPipeline for dispatches, and its layouts."""

    _kind_of_bound = VulkanBound

    stages = vk.VK_SHADER_STAGE_COMPUTE_BIT
    bind_point = vk.VK_PIPELINE_BIND_POINT_COMPUTE

    def _create_pipeline(self) -> None:
        self.handle = self.make()

    def make(self, create_flags: int = 0) -> Any:
        """Make a VkPipeline with these VkPipelineCreateFlags; the caller destroys it."""
        device, flags = self.device, self.stage_flags(self.shader)
        with stage_info(device, self.shader, subgroup_size=self.subgroup_size, flags=flags) as stage:
            info = vk.new("VkComputePipelineCreateInfo", flags=create_flags, stage=stage, layout=self.layout)
            handle = vk.ffi.new("VkPipeline *")
            code = device.functions.vkCreateComputePipelines(device.handle, vk.NULL, 1, info, vk.NULL, handle)
            device.check(code, "creating a compute pipeline")
            return handle[0]

    def _statistics(self) -> dict[str, float | int | bool]:
        return statistics_of(self)
