"""Images of Vulkan, in the general layout, and the pool of images for draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.base.formats import TexelFormat
from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.device.memory_types import allocate
from vkgroup.device.transfers import TRANSFER_TIMEOUT
from vkgroup.dispatch.attachments import ImageSource
from vkgroup.dispatch.image import AXES, Image

LARGEST_IDLE = 4 << 20
"""Bytes of the texels of the largest image that is kept."""

MOST_IDLE = 32
"""Number of images that a device keeps."""


class VulkanImage(Image):
    """A VkImage in the general layout, with the buffer through which its texels are transferred.

    Its `view` has all levels, for sampling; its `first_view` only the first level, for storage.
    """

    device: LogicalDevice
    handle: Any = None
    view: Any = None
    first_view: Any = None
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
        device, functions = self.device, self.device.instance.functions
        self.uses = self._find_uses()
        limits = vk.ffi.new("VkImageFormatProperties *")
        code = functions.vkGetPhysicalDeviceImageFormatProperties(
            device.physical,
            getattr(vk, self.format.vulkan),
            self._type_number(),
            vk.VK_IMAGE_TILING_OPTIMAL,
            self._usage(),
            self._flags(),
            limits,
        )
        if code == vk.VK_ERROR_FORMAT_NOT_SUPPORTED:
            use = "sampled" if self._sampled else "attachment" if self._attachment else "storage"
            raise Unsupported(
                f"{device.capabilities.name} has no {self.dimension} {use} images of {self.format.vulkan}.",
                [self.format.vulkan],
            )
        device.check(code, "reading the limits of images")
        if self.levels > limits.maxMipLevels:
            raise Unsupported(
                f"{device.capabilities.name} has at most {limits.maxMipLevels} levels in such images.",
                [f"maxMipLevels of {self.levels} (it is {limits.maxMipLevels})"],
            )
        if not limits.sampleCounts & self.samples:
            raise Unsupported(
                f"{device.capabilities.name} has no {self.format.vulkan} with {self.samples} samples.",
                [f"sampleCounts with {self.samples} of {self.format.vulkan}"],
            )
        most = limits.maxExtent
        return (most.width, most.height, most.depth), limits.maxArrayLayers

    def _find_uses(self) -> frozenset[str]:
        """Return the uses that images of the format have, and those that this one must have."""
        features = format_features(self.device, self.format).optimalTilingFeatures
        uses = {"sampled" if self._sampled else "attachment" if self._attachment else "storage"}
        if features & vk.VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT:
            uses.add("sampled")
        if features & vk.VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT and self.samples == 1:
            uses.add("storage")
        drawable = self.dimension == "2D" and not self.arrayed and self.levels == 1
        kind = "DEPTH_STENCIL" if self.format.depth else "COLOR"
        if features & getattr(vk, f"VK_FORMAT_FEATURE_{kind}_ATTACHMENT_BIT") and drawable:
            uses.add("attachment")
        return frozenset(uses)

    def _usage(self) -> int:
        usage = int(vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT)
        if "storage" in self.uses:
            usage |= vk.VK_IMAGE_USAGE_STORAGE_BIT
        if "sampled" in self.uses:
            usage |= vk.VK_IMAGE_USAGE_SAMPLED_BIT
        if "attachment" in self.uses and self.format.depth:
            usage |= vk.VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
        elif "attachment" in self.uses:
            usage |= vk.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT
        return usage

    def _flags(self) -> int:
        return int(vk.VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT) if self.dimension == "Cube" else 0

    def _create(self) -> None:
        self._create_image()
        self.view = self._create_view(self.levels)
        self.first_view = self._create_view(1) if self.levels > 1 else self.view
        if self.samples == 1:
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
            flags=self._flags(),
            mipLevels=self.levels,
            arrayLayers=self.layers,
            samples=self.samples,
            tiling=vk.VK_IMAGE_TILING_OPTIMAL,
            usage=self._usage(),
        )
        self.handle = device.create("Image", info, "an image")
        requirements = vk.ffi.new("VkMemoryRequirements *")
        functions.vkGetImageMemoryRequirements(device.handle, self.handle, requirements)
        what = f"an image of {self.shape}"
        device_local = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
        memory = self._memory = allocate(device, requirements, 0, device_local, what, image=True)
        code = functions.vkBindImageMemory(device.handle, self.handle, memory.memory, memory.offset)
        device.check(code, f"binding memory to {what}")

    def _create_view(self, levels: int) -> Any:
        info = vk.new(
            "VkImageViewCreateInfo",
            image=self.handle,
            viewType=getattr(vk, f"VK_IMAGE_VIEW_TYPE_{self.dimension.upper()}{'_ARRAY' * self.arrayed}"),
            format=getattr(vk, self.format.vulkan),
            subresourceRange=self._range(levels),
        )
        return self.device.create("ImageView", info, "an image view")

    def _aspect(self) -> int:
        return int(vk.VK_IMAGE_ASPECT_DEPTH_BIT if self.format.depth else vk.VK_IMAGE_ASPECT_COLOR_BIT)

    def _range(self, levels: int) -> Any:
        return vk.new(
            "VkImageSubresourceRange",
            aspectMask=self._aspect(),
            levelCount=levels,
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
            subresourceRange=self._range(self.levels),
        )
        stages = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        after = stages | vk.VK_PIPELINE_STAGE_HOST_BIT
        functions = self.device.functions
        functions.vkCmdPipelineBarrier(commands, stages, after, 0, 0, vk.NULL, 0, vk.NULL, 1, barrier)

    def _copy(self, level: int, *, upload: bool) -> None:
        with self._commands.record() as commands:
            self.record_copy(commands, level, upload=upload)
        self._commands.run(TRANSFER_TIMEOUT)

    def record_copy(self, commands: Any, level: int, *, upload: bool) -> None:
        """Record a copy between a level and the transfer buffer, after all that came before."""
        functions, general = self.device.functions, vk.VK_IMAGE_LAYOUT_GENERAL
        layers = vk.new(
            "VkImageSubresourceLayers",
            aspectMask=self._aspect(),
            mipLevel=level,
            layerCount=self.layers,
        )
        width, height, depth = (max(1, size >> level) for size in self.extent)
        extent = vk.new("VkExtent3D", width=width, height=height, depth=depth)
        region = vk.new("VkBufferImageCopy", imageSubresource=layers, imageExtent=extent)
        buffer = self._transfer_buffer.handle
        self._barrier(commands, general)
        if upload:
            functions.vkCmdCopyBufferToImage(commands, buffer, self.handle, general, 1, region)
        else:
            functions.vkCmdCopyImageToBuffer(commands, self.handle, general, buffer, 1, region)
        self._barrier(commands, general)

    def _write(self, texels: npt.NDArray[np.uint8], level: int) -> None:
        self._transfer_buffer.write(texels)
        self._copy(level, upload=True)

    def _read(self, level: int) -> npt.NDArray[np.uint8]:
        if self.samples > 1:
            assert self.device.read_samples is not None
            return self.device.read_samples(self)
        self._copy(level, upload=False)
        return self._transferred(level)

    def _transferred(self, level: int) -> npt.NDArray[np.uint8]:
        texels = np.empty(math.prod(self.shape_of(level)) * self.dtype.itemsize, np.uint8)
        self._transfer_buffer.read(texels)
        return texels

    def close(self) -> None:
        """Free the image, its memory and what served to fill it."""
        device = self.device
        device.forget(self)
        for part in (getattr(self, "_commands", None), getattr(self, "_transfer_buffer", None)):
            if part is not None:
                part.close()
        for view in {self.view, self.first_view}:
            device.destroy("ImageView", view)
        device.destroy("Image", self.handle)
        if self._memory is not None and device.usable:
            device.pool.free(self._memory)
        self.view = self.first_view = self.handle = self._memory = None
        self._holding = False


class PooledImages(ImageSource):
    """Images for draws, kept by the device for the next draws.

    Making and freeing an image takes a few calls of the driver's part in the kernel. Alone they are quick;
    where sixteen processes draw on an H200 they were half of a small draw's time.
    """

    device: LogicalDevice

    def take(self, shape: tuple[int, ...], format_: TexelFormat, samples: int) -> Image:
        """Return an image to draw to; its contents are undefined."""
        self.device.require_open()
        for image in reversed(self.device.idle_images):
            if (image.shape, image.format, image.samples) == (shape, format_, samples):
                self.device.idle_images.remove(image)
                taken: VulkanImage = image
                return taken
        return super().take(shape, format_, samples)

    def give_back(self, image: Image) -> None:
        """Keep an image; the oldest one of a full pool is closed."""
        device = self.device
        if image.closed or not device.usable or device.lost or image.nbytes > LARGEST_IDLE:
            image.close()
            return
        device.idle_images.append(image)
        if len(device.idle_images) > MOST_IDLE:
            device.idle_images.pop(0).close()

    def read(self, images: Sequence[Image]) -> list[npt.NDArray[Any]]:
        """Read whole images, those of one sample in one submission."""
        plain = [image for image in images if isinstance(image, VulkanImage) and image.samples == 1]
        if len(plain) < 2:
            return super().read(images)
        for image in plain:
            image._require_open()
        commands = plain[0]._commands
        with commands.record() as recorded:
            for image in plain:
                image.record_copy(recorded, 0, upload=False)
        commands.run(TRANSFER_TIMEOUT)
        return [
            image._transferred(0).view(image.dtype).reshape(image.shape) if image in plain else image.read()
            for image in images
        ]


def format_features(device: LogicalDevice, format: TexelFormat) -> Any:
    """Ask for the VkFormatProperties of a format."""
    properties = vk.ffi.new("VkFormatProperties *")
    number = getattr(vk, format.vulkan)
    device.instance.functions.vkGetPhysicalDeviceFormatProperties(device.physical, number, properties)
    return properties
