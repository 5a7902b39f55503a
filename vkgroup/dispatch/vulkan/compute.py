"""Compute pipelines of Vulkan."""

from __future__ import annotations

from typing import Any

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.compute_stages import ComputeStages
from vkgroup.dispatch.vulkan.stage_info import stage_info


def create_compute_pipeline(device: LogicalDevice, stages: ComputeStages, layout: Any, flags: int = 0) -> Any:
    """Create a VkPipeline for dispatches; the caller destroys it.

    Parameters
    ----------
    flags : VkPipelineCreateFlags.
    """
    with stage_info(device, stages, stages.shader) as stage:
        info = vk.new("VkComputePipelineCreateInfo", flags=flags, stage=stage, layout=layout)
        handle = vk.ffi.new("VkPipeline *")
        code = device.functions.vkCreateComputePipelines(device.handle, vk.NULL, 1, info, vk.NULL, handle)
        device.check(code, "creating a compute pipeline")
        return handle[0]
