"""VkSampler and VkBufferView: the objects in descriptors of textures and texel buffers besides memory."""

from __future__ import annotations

from typing import Any

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.errors import Unsupported
from vkgroup.formats import Format
from vkgroup.sampler import Sampler


def create_sampler(device: LogicalDevice, state: Sampler) -> Any:
    """Make a VkSampler; the caller destroys it."""
    magnify, minify = state.filters
    u, v, w = (getattr(vk, f"VK_SAMPLER_ADDRESS_MODE_{mode.upper()}") for mode in state.addresses)
    info = vk.new(
        "VkSamplerCreateInfo",
        magFilter=getattr(vk, f"VK_FILTER_{magnify.upper()}"),
        minFilter=getattr(vk, f"VK_FILTER_{minify.upper()}"),
        mipmapMode=getattr(vk, f"VK_SAMPLER_MIPMAP_MODE_{state.mipmap.upper()}"),
        addressModeU=u,
        addressModeV=v,
        addressModeW=w,
        mipLodBias=state.lod_bias,
        compareEnable=state.compare is not None,
        compareOp=getattr(vk, f"VK_COMPARE_OP_{(state.compare or 'never').upper()}"),
        minLod=0.0 if state.unnormalized else state.min_lod,
        maxLod=0.0 if state.unnormalized else state.max_lod,
        borderColor=getattr(vk, f"VK_BORDER_COLOR_{state.border_color.upper()}"),
        unnormalizedCoordinates=state.unnormalized,
    )
    handle = vk.ffi.new("VkSampler *")
    code = device.functions.vkCreateSampler(device.handle, info, vk.NULL, handle)
    device.check(code, "creating a sampler")
    return handle[0]


def create_buffer_view(
    device: LogicalDevice, buffer: Any, format: Format, offset: int, nbytes: int, *, storage: bool
) -> Any:
    """Make a VkBufferView of some bytes of a buffer; the caller destroys it.

    Raises
    ------
    Unsupported
        The device has no texel buffers of that format.
    """
    need = "STORAGE" if storage else "UNIFORM"
    flag = getattr(vk, f"VK_FORMAT_FEATURE_{need}_TEXEL_BUFFER_BIT")
    if not format_features(device, format).bufferFeatures & flag:
        raise Unsupported(
            f"{device.capabilities.name} has no {need.lower()} texel buffers of {format.vulkan}.",
            [format.vulkan],
        )
    info = vk.new(
        "VkBufferViewCreateInfo",
        buffer=buffer,
        format=getattr(vk, format.vulkan),
        offset=offset,
        range=nbytes,
    )
    handle = vk.ffi.new("VkBufferView *")
    code = device.functions.vkCreateBufferView(device.handle, info, vk.NULL, handle)
    device.check(code, "creating a view of a texel buffer")
    return handle[0]


def format_features(device: LogicalDevice, format: Format) -> Any:
    """Ask for the VkFormatProperties of a format."""
    properties = vk.ffi.new("VkFormatProperties *")
    number = getattr(vk, format.vulkan)
    device.instance.functions.vkGetPhysicalDeviceFormatProperties(device.physical, number, properties)
    return properties


def require_filter(device: LogicalDevice, format: Format, state: Sampler) -> None:
    """Raise `Unsupported` where the device cannot filter texels of a format as a sampler says."""
    linear = "linear" in (*state.filters, state.mipmap)
    flag = vk.VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT
    if linear and not format_features(device, format).optimalTilingFeatures & flag:
        raise Unsupported(
            f"{device.capabilities.name} has no linear filter for images of {format.vulkan}.",
            [f"linear filtering of {format.vulkan}"],
        )
