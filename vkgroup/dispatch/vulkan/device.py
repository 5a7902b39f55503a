"""Devices of Vulkan."""

from __future__ import annotations

from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.image import VulkanImage
from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline


class VulkanDevice(Device):
    """An open Vulkan device.

    Attributes
    ----------
    logical : the layer below.
    """

    _buffers, _images, _kind_of_pipelines = VulkanBuffer, VulkanImage, VulkanPipeline

    def __init__(self, logical: LogicalDevice) -> None:
        super().__init__(logical)
        self.logical = logical
