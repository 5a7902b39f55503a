"""Storage images on a device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import TRANSFER_TIMEOUT, DeviceBuffer, allocate
from vkgroup.dispatch.blocks import suggestion
from vkgroup.dispatch.buffer import as_bytes, checked_array
from vkgroup.errors import DriverError, InvalidDispatch, Unsupported
from vkgroup.spirv import ImageType


@dataclass(frozen=True)
class Format:
    """A texel format: its SPIR-V name, its VkFormat's name, and a texel as NumPy has it."""

    name: str
    vulkan: str
    dtype: np.dtype[Any]
    components: int


def _formats() -> dict[str, Format]:
    """Formats of storage images by SPIR-V's names, of one, two and four equal components."""
    kinds = [
        (bits, spirv, vulkan, f"{letter}{bits // 8}")
        for spirv, vulkan, letter, widths in (
            ("ui", "UINT", "u", (32, 16, 8)),
            ("i", "SINT", "i", (32, 16, 8)),
            ("f", "SFLOAT", "f", (32, 16)),
            ("", "UNORM", "u", (16, 8)),
            ("Snorm", "SNORM", "i", (16, 8)),
        )
        for bits in widths
    ]
    found = {}
    for prefix, letters in (("R", "R"), ("Rg", "RG"), ("Rgba", "RGBA")):
        for bits, spirv, vulkan, dtype in kinds:
            name = f"{prefix}{bits}{spirv}"
            channels = "".join(f"{letter}{bits}" for letter in letters)
            found[name] = Format(name, f"VK_FORMAT_{channels}_{vulkan}", np.dtype(dtype), len(letters))
    return found


FORMATS = _formats()

#: Axes of an image's array by SPIR-V's dimension, without layers and components.
_AXES = {"1D": 1, "2D": 2, "3D": 3}


def choose_format(kind: ImageType, array: npt.NDArray[Any], what: str) -> Format:
    """Choose the format of an image that a module declares, to be filled from `array`.

    A format that the module leaves open follows the array's dtype, and its axes.

    Raises
    ------
    InvalidDispatch
        The array's dtype or number of axes does not fit.
    Unsupported
        The module's format or dimension is none that vkgroup makes images of.
    """
    if kind.dimension not in _AXES or kind.multisampled:
        raise Unsupported(f"{what}: images of type {kind.glsl} cannot be made from arrays.", [kind.glsl])
    axes = _AXES[kind.dimension] + kind.arrayed
    if kind.format == "Unknown":
        components = array.shape[-1] if array.ndim == axes + 1 else 1
        fitting = [f for f in FORMATS.values() if (f.dtype, f.components) == (array.dtype, components)]
        if not fitting:
            raise InvalidDispatch(
                f"{what}: no image format has {components} components of {array.dtype.name}."
            )
        found = fitting[0]
    elif kind.format in FORMATS:
        found = FORMATS[kind.format]
    else:
        raise Unsupported(f"{what}: images of format {kind.format} cannot be made.", [kind.format])
    if array.dtype != found.dtype:
        raise InvalidDispatch(
            f"{what} has the format {found.name}, whose texels are {found.dtype.name}; the array given is"
            f" {array.dtype.name}. Use array.astype(np.{found.dtype.name})."
        )
    return found


class Image:
    """A storage image in the general layout; `Device.image` makes it.

    The array's axes are those of NumPy images: layers first, then depth, height, width, and last the
    components where the format has more than one.

    Attributes
    ----------
    shape, dtype : of the arrays that it is written from and read into.
    format : its texels.
    dimension : ``"1D"``, ``"2D"`` or ``"3D"``.
    arrayed : whether it has layers.
    """

    def __init__(
        self,
        device: LogicalDevice,
        shape: tuple[int, ...],
        format_: Format,
        *,
        dimension: str = "2D",
        arrayed: bool = False,
    ) -> None:
        self.device = device
        self.format, self.dimension, self.arrayed = format_, dimension, arrayed
        self.shape, self.dtype = shape, format_.dtype
        axes = _AXES[dimension] + arrayed + (format_.components > 1)
        components = shape[-1] if format_.components > 1 and shape else 1
        if len(shape) != axes or components != format_.components:
            names = "layers, " * arrayed + ", ".join(("depth", "height", "width")[3 - _AXES[dimension] :])
            names += f", {format_.components}" * (format_.components > 1)
            raise InvalidDispatch(
                f"A {dimension} image of format {format_.name} takes arrays of shape ({names}); the array"
                f" given has the shape {shape}."
            )
        self.layers = shape[0] if arrayed else 1
        extent = shape[int(arrayed) : int(arrayed) + _AXES[dimension]]
        self.extent = (*reversed(extent), 1, 1)[:3]
        self.nbytes = math.prod(shape) * format_.dtype.itemsize
        self.handle: Any = None
        self.view: Any = None
        self._memory: Any = None
        device.require_open()
        self._check_limits()
        device.register(self)
        try:
            self._create()
            self._create_view()
            self._transfer_buffer = DeviceBuffer(device, self.nbytes, host=True)
            self._commands = Commands(device)
            self._to_general_layout()
        except DriverError:
            self.close()
            raise
        device.instance.raise_validation_errors()

    def _type_number(self) -> int:
        return _AXES[self.dimension] - 1

    def _check_limits(self) -> None:
        """Compare format and extent with what the device has for storage images."""
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
        most = (limits.maxExtent.width, limits.maxExtent.height, limits.maxExtent.depth)
        if any(have > limit for have, limit in zip(self.extent, most, strict=True)):
            raise Unsupported(
                f"An image of {self.extent} is over the limit of {device.capabilities.name}, {most}.",
                [f"maxExtent of {self.extent} (it is {most})"],
            )
        if self.layers > limits.maxArrayLayers:
            raise Unsupported(
                f"{self.layers} layers are over the limit of {device.capabilities.name},"
                f" maxArrayLayers {limits.maxArrayLayers}.",
                [f"maxArrayLayers of {self.layers} (it is {limits.maxArrayLayers})"],
            )

    def _create(self) -> None:
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

    def _to_general_layout(self) -> None:
        with self._commands.record() as commands:
            self._barrier(commands, vk.VK_IMAGE_LAYOUT_UNDEFINED)
        self._commands.run(TRANSFER_TIMEOUT)

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

    def write(self, array: npt.ArrayLike) -> None:
        """Copy a whole array into the image.

        Raises
        ------
        InvalidDispatch
            Its shape or dtype is not the image's.
        """
        data = checked_array(array, "Image.write")
        if data.shape != self.shape or data.dtype != self.dtype:
            raise InvalidDispatch(
                f"The image takes {self.dtype.name} arrays of shape {self.shape};"
                f" {data.dtype.name} of shape {data.shape} was given."
            )
        self._require_open()
        self._transfer_buffer.write(as_bytes(data))
        self._copy(upload=True)

    def read(self) -> npt.NDArray[Any]:
        """Copy the whole image into a new array."""
        self._require_open()
        self._copy(upload=False)
        return self._transfer_buffer.read(self.nbytes).view(self.dtype).reshape(self.shape)

    def _require_open(self) -> None:
        self.device.require_open()
        if self.handle is None:
            raise DriverError("The image is closed; make a new one.")

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "handle", None) is not None:
            self.close()


def _usage() -> int:
    return (
        vk.VK_IMAGE_USAGE_STORAGE_BIT
        | vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT
        | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT
    )


def named_format(name: str) -> Format:
    """Look up a format by SPIR-V's or GLSL's name (``"R32ui"``, ``"r32ui"``).

    Raises
    ------
    InvalidDispatch
        There is none of that name.
    """
    for found in FORMATS.values():
        if found.name.lower() == name.lower():
            return found
    raise InvalidDispatch(f"There is no image format {name!r}.{suggestion(name, FORMATS)}")
