"""Storage images: arrays in and out of every dimension and format, and barriers on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import lacks

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.formats import FORMATS, TexelFormat
from vkgroup.device import vk
from vkgroup.dispatch import Device
from vkgroup.dispatch.vulkan import VulkanDevice

ADD = """#version 450
#extension GL_EXT_shader_image_int64 : enable
layout(local_size_x = 1) in;
layout(binding = 0, {format}) uniform {image} picture;
void main() {{
    {coordinate} at = {coordinate}({components});
    imageStore(picture, at, imageLoad(picture, at) + {vector}(1));
}}"""


def add_one(image: str, format_: str) -> str:
    axes = {"1D": 1, "2D": 2, "3D": 3, "2DArray": 3, "1DArray": 2}[image.split("mage")[1]]
    return ADD.format(
        format=format_,
        image=image,
        coordinate="int" if axes == 1 else f"ivec{axes}",
        components=", ".join(f"gl_GlobalInvocationID.{axis}" for axis in "xyz"[:axes]),
        vector={"u": "uvec4", "i": "ivec4"}[image[0]] if not image.startswith("image") else "vec4",
    )


@pytest.mark.parametrize(
    ("image", "format_", "dtype", "shape", "groups"),
    [
        ("uimage2D", "r32ui", np.uint32, (5, 7), (7, 5)),
        ("iimage2D", "r32i", np.int32, (5, 7), (7, 5)),
        ("image2D", "r32f", np.float32, (5, 7), (7, 5)),
        ("image2D", "rgba32f", np.float32, (5, 7, 4), (7, 5)),
        ("uimage2D", "rgba8ui", np.uint8, (5, 7, 4), (7, 5)),
        ("image2D", "rgba16f", np.float16, (5, 7, 4), (7, 5)),
        ("uimage1D", "r32ui", np.uint32, (9,), 9),
        ("uimage3D", "r32ui", np.uint32, (2, 3, 4), (4, 3, 2)),
        ("uimage2DArray", "r32ui", np.uint32, (2, 3, 4), (4, 3, 2)),
    ],
)
def test_arrays_go_in_and_out(
    device: Device, image: str, format_: str, dtype: Any, shape: tuple[int, ...], groups: Any
) -> None:
    texels = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    result = device.run(add_one(image, format_), groups, {"picture": texels})["picture"]
    assert result.dtype == texels.dtype
    assert np.array_equal(result, texels + 1)


def test_images_stay_on_the_device(device: Device) -> None:
    texels = np.arange(12, dtype=np.uint32).reshape(3, 4)
    with device.image(texels, format="r32ui") as image:
        for _ in range(3):
            assert len(device.run(add_one("uimage2D", "r32ui"), (4, 3), {"picture": image})) == 0
        assert np.array_equal(image.read(), texels + 3)
        image.write(texels)
        assert np.array_equal(image.read(), texels)


def test_a_format_follows_the_dtype(device: Device) -> None:
    with device.image(np.zeros((2, 2), np.int32)) as image:
        assert image.format.name == "R32i"
    with device.image(np.zeros((2, 2, 4), np.float32)) as image:
        assert image.format.name == "Rgba32f"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_made_or_named_as_missing(vulkan_device: VulkanDevice, name: str) -> None:
    device = vulkan_device
    format_ = FORMATS[name]
    shape = (3, 5) if format_.components == 1 else (3, 5, format_.components)
    texels = np.random.default_rng(0).integers(0, 100, shape).astype(format_.dtype)
    if _has(device, format_):
        with device.image(texels, format=name) as image:
            assert np.array_equal(image.read(), texels)
    else:
        assert name not in ("R32ui", "R32i", "R32f", "Rgba32f", "Rgba8"), "those every device has"
        with lacks(format_.vulkan):
            device.image(texels, format=name)


def _has(device: VulkanDevice, format_: TexelFormat) -> bool:
    """Ask the driver whether it has storage images of a format."""
    properties = vk.ffi.new("VkFormatProperties *")
    number = getattr(vk, format_.vulkan)
    logical = device.logical
    logical.instance.functions.vkGetPhysicalDeviceFormatProperties(logical.physical, number, properties)
    return bool(properties.optimalTilingFeatures & vk.VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT)


def test_images_order_memory_within_a_subgroup(device: Device) -> None:
    source = """#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(binding = 0, r32ui) uniform coherent uimage2D cells;
layout(binding = 1) buffer Out { uint y[]; } outs;
void main() {
    ivec2 row = ivec2(gl_SubgroupInvocationID, gl_SubgroupID);
    imageStore(cells, row, uvec4(gl_LocalInvocationIndex + 1u));
    subgroupMemoryBarrierImage();
    subgroupBarrier();
    ivec2 other = ivec2(row.x ^ 1, row.y);
    outs.y[gl_LocalInvocationIndex] = imageLoad(cells, other).x;
}"""
    size = device.capabilities.subgroup.size
    outs = np.zeros(64, np.uint32)
    found = device.run(source, 1, {"cells": np.zeros((64 // size, size), np.uint32), "outs": outs})["outs"]
    assert np.array_equal(found, (np.arange(64) ^ 1) + 1)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((4, 4), np.int32), "R32ui, whose texels are uint32; the array given is int32"),
        (np.zeros(4, np.uint32), r"takes arrays of shape \(height, width\)"),
        (np.zeros((4, 4, 4), np.uint32), r"takes arrays of shape \(height, width\)"),
    ],
)
def test_arrays_that_are_no_such_image_are_refused(device: Device, array: np.ndarray, reason: str) -> None:
    with pytest.raises(InvalidDispatch, match=reason):
        device.run(add_one("uimage2D", "r32ui"), 1, {"picture": array})


def test_images_and_buffers_are_not_taken_for_each_other(device: Device) -> None:
    texels = np.zeros((4, 4), np.uint32)
    with device.buffer(texels) as buffer, device.image(texels) as image:
        with pytest.raises(InvalidDispatch, match="is a storage image; buffer given"):
            device.run(add_one("uimage2D", "r32ui"), 1, {"picture": buffer})
        with pytest.raises(InvalidDispatch, match="given has R32ui"):
            device.run(add_one("iimage2D", "r32i"), 1, {"picture": image})
        with pytest.raises(InvalidDispatch, match="a 2D image is given"):
            device.run(add_one("uimage3D", "r32ui"), 1, {"picture": image})


def test_images_over_the_limit_are_refused(device: Device) -> None:
    most = device.capabilities.limits["maxImageDimension2D"]
    with lacks("maxExtent"):
        device.image(np.zeros((1, most + 1), np.uint32))


@pytest.mark.parametrize("format_", ["r32u", "rgb8"])
def test_formats_that_do_not_exist_are_refused(device: Device, format_: str) -> None:
    with pytest.raises(InvalidDispatch, match="no image format"):
        device.image(np.zeros((4, 4), np.uint32), format=format_)


def test_levels_are_arrays(device: Device) -> None:
    with pytest.raises(InvalidDispatch, match="levels are the arrays"):
        device.image(np.zeros((4, 4), np.float32), levels=2)  # type: ignore[arg-type]
