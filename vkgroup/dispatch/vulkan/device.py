"""Vulkan devices."""

from __future__ import annotations

from typing import Any

from vkgroup.compiler import Target
from vkgroup.device.capabilities import Capabilities
from vkgroup.device.limits import subgroup_size_problems
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.vulkan.acceleration import VulkanAccelerationStructure
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.cuda_arrays import adopt
from vkgroup.dispatch.vulkan.image import VulkanImage
from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline
from vkgroup.dispatch.vulkan.samples import read_samples
from vkgroup.dispatch.vulkan.sequence import VulkanSequence
from vkgroup.errors import Unsupported


class VulkanDevice(Device):
    """An open Vulkan device.

    Parameters
    ----------
    logical : the layer below; closed with this.
    subgroup_size : required of pipelines that require no other; None leaves it to the device.

    Attributes
    ----------
    logical : the layer below.

    Raises
    ------
    Unsupported
        The device does not run at that subgroup size; it is closed.
    """

    _buffers, _images, _kind_of_pipelines = VulkanBuffer, VulkanImage, VulkanPipeline
    _structures, _kind_of_sequences = VulkanAccelerationStructure, VulkanSequence

    def __init__(self, logical: LogicalDevice, subgroup_size: int | None = None) -> None:
        try:
            super().__init__(logical, _required(subgroup_size, logical.capabilities))
        except Unsupported:
            logical.close()
            raise
        self.logical = logical
        logical.read_samples = read_samples

    def _from_cuda(self, array: Any, copy: bool | None) -> Buffer:
        return adopt(self.logical, array, copy)

    @property
    def target(self) -> Target:
        """The target that modules for this device are compiled for.

        Mesa before 23 ends the process at `HelperInvocation` as SPIR-V 1.6 has it, volatile
        (docs/driver-findings.md), so modules for it are of SPIR-V 1.5.
        """
        capabilities = self.capabilities
        if capabilities.driver_name == "llvmpipe" and capabilities.driver_info.startswith("Mesa 22."):
            return Target.VULKAN_1_2
        return super().target


def _required(size: int | None, capabilities: Capabilities) -> int | None:
    """Return the size to require; none where the device has no other anyway."""
    declared, control = capabilities.subgroup.size, capabilities.size_control
    if size is None or (size == declared and not control.supported):
        return None
    problems = subgroup_size_problems(size, False, (1, 1, 1), capabilities)
    if problems:
        raise Unsupported(
            f"{capabilities.name} has subgroups of {declared} and cannot be made to use {size}; it lacks:"
            f" {'; '.join(problems)}. The reference device has every size (--device reference:{size}).",
            problems,
        )
    return size
