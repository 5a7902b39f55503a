"""Storage images of Vulkan, in the general layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import TRANSFER_TIMEOUT, DeviceBuffer, allocate
from vkgroup.dispatch.formats import AXES
from vkgroup.dispatch.image import Image
from vkgroup.errors import Unsupported


class VulkanImage(Image):
    """A VkImage in the general layout, with the buffer through which its texels come and go.

    Attributes
    ----------
    handle, view : Vulkan's objects; None when closed.
    """

    device: LogicalDevice
    handle: Any = None
    view: Any = None
    _memory: Any = None
    _commands: Commands
    _transfer_buffer: DeviceBuffer

    @property
    def closed(self) -> bool:
        """Whether the image was closed."""
        return self.handle is None

    def _type_number(self) -> int:
        return AXES[self.dimension] - 1

    def _limits(self) -> tuple[tuple[int, int, int], int]:
        """Largest extent and number of layers of such images; `Unsupported` where there are none."""
        device, functions = self.device, self.device.instance.functions
        limits = vk.ffi.new("VkImageFormatProperties *")
        code = functions.vkGetPhysicalDeviceImageFormatProperties(
            device.physical,
            getattr(vk, self.format.vulkan),
            self._type_number(),
            vk.VK_IMAGE_TILING_OPTIMAL,
            _usage(),
            0,
            limits,
        )
        if code == vk.VK_ERROR_FORMAT_NOT_SUPPORTED:
            raise Unsupported(
                f"{device.capabilities.name} has no {self.dimension} storage images of {self.format.vulkan}.",
                [self.format.vulkan],
            )
        device.check(code, "reading the limits of images")
        most = limits.maxExtent
        return (most.width, most.height, most.depth), limits.maxArrayLayers

    def _create(self) -> None:
        self._create_image()
        self._create_view()
        self._transfer_buffer = DeviceBuffer(self.device, self.nbytes, host=True)
        self._commands = Commands(self.device)
        with self._commands.record() as commands:
            self._barrier(commands, vk.VK_IMAGE_LAYOUT_UNDEFINED)
        self._commands.run(TRANSFER_TIMEOUT)

    def _create_image(self) -> None:
        device, functions = self.device, self.device.functions
        extent = vk.new("VkExtent3D", width=self.extent[0], height=self.extent[1], depth=self.extent[2])
        info = vk.new(
            "VkImageCreateInfo",
            imageType=self._type_number(),
            format=getattr(vk, self.format.vulkan),
            extent=extent,
            mipLevels=1,
            arrayLayers=self.layers,
            samples=vk.VK_SAMPLE_COUNT_1_BIT,
            tiling=vk.VK_IMAGE_TILING_OPTIMAL,
            usage=_usage(),
        )
        handle = vk.ffi.new("VkImage *")
        device.check(functions.vkCreateImage(device.handle, info, vk.NULL, handle), "creating an image")
        self.handle = handle[0]
        requirements = vk.ffi.new("VkMemoryRequirements *")
        functions.vkGetImageMemoryRequirements(device.handle, self.handle, requirements)
        what = f"an image of {self.shape}"
        device_local = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
        self._memory = allocate(device, requirements, 0, device_local, what)
        code = functions.vkBindImageMemory(device.handle, self.handle, self._memory, 0)
        device.check(code, f"binding memory to {what}")

    def _create_view(self) -> None:
        device = self.device
        kinds = {("1D", True): 4, ("2D", True): 5}
        info = vk.new(
            "VkImageViewCreateInfo",
            image=self.handle,
            viewType=kinds.get((self.dimension, self.arrayed), self._type_number()),
            format=getattr(vk, self.format.vulkan),
            subresourceRange=self._range(),
        )
        view = vk.ffi.new("VkImageView *")
        code = device.functions.vkCreateImageView(device.handle, info, vk.NULL, view)
        device.check(code, "creating an image view")
        self.view = view[0]

    def _range(self) -> Any:
        return vk.new(
            "VkImageSubresourceRange",
            aspectMask=vk.VK_IMAGE_ASPECT_COLOR_BIT,
            levelCount=1,
            layerCount=self.layers,
        )

    def _barrier(self, commands: Any, old_layout: int) -> None:
        """Order everything before against everything after, and leave the image in the general layout."""
        barrier = vk.new(
            "VkImageMemoryBarrier",
            srcAccessMask=vk.VK_ACCESS_MEMORY_WRITE_BIT,
            dstAccessMask=vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT,
            oldLayout=old_layout,
            newLayout=vk.VK_IMAGE_LAYOUT_GENERAL,
            srcQueueFamilyIndex=vk.QUEUE_FAMILY_IGNORED,
            dstQueueFamilyIndex=vk.QUEUE_FAMILY_IGNORED,
            image=self.handle,
            subresourceRange=self._range(),
        )
        stages = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        after = stages | vk.VK_PIPELINE_STAGE_HOST_BIT
        functions = self.device.functions
        functions.vkCmdPipelineBarrier(commands, stages, after, 0, 0, vk.NULL, 0, vk.NULL, 1, barrier)

    def _copy(self, *, upload: bool) -> None:
        functions, general = self.device.functions, vk.VK_IMAGE_LAYOUT_GENERAL
        layers = vk.new(
            "VkImageSubresourceLayers",
            aspectMask=vk.VK_IMAGE_ASPECT_COLOR_BIT,
            layerCount=self.layers,
        )
        extent = vk.new("VkExtent3D", width=self.extent[0], height=self.extent[1], depth=self.extent[2])
        region = vk.new("VkBufferImageCopy", imageSubresource=layers, imageExtent=extent)
        buffer = self._transfer_buffer.handle
        with self._commands.record() as commands:
            self._barrier(commands, general)
            if upload:
                functions.vkCmdCopyBufferToImage(commands, buffer, self.handle, general, 1, region)
            else:
                functions.vkCmdCopyImageToBuffer(commands, self.handle, general, buffer, 1, region)
            self._barrier(commands, general)
        self._commands.run(TRANSFER_TIMEOUT)

    def _write(self, texels: npt.NDArray[np.uint8]) -> None:
        self._transfer_buffer.write(texels)
        self._copy(upload=True)

    def _read(self) -> npt.NDArray[np.uint8]:
        self._copy(upload=False)
        return self._transfer_buffer.read(self.nbytes)

    def close(self) -> None:
        """Free the image, its memory and what served to fill it."""
        device = self.device
        device.forget(self)
        for part in (getattr(self, "_commands", None), getattr(self, "_transfer_buffer", None)):
            if part is not None:
                part.close()
        if device.usable:
            functions = device.functions
            if self.view is not None:
                functions.vkDestroyImageView(device.handle, self.view, vk.NULL)
            if self.handle is not None:
                functions.vkDestroyImage(device.handle, self.handle, vk.NULL)
            if self._memory is not None:
                functions.vkFreeMemory(device.handle, self._memory, vk.NULL)
        self.view = self.handle = self._memory = None
        self._holding = False


def _usage() -> int:
    return (
        vk.VK_IMAGE_USAGE_STORAGE_BIT
        | vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT
        | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT
    )
