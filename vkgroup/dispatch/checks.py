"""Checks that bound arrays, buffers, images and samplers fit their slots."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.base.formats import FORMATS, TexelFormat
from vkgroup.base.sampler import Sampler
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.acceleration import AccelerationStructure, geometry_of
from vkgroup.dispatch.blocks import check_array
from vkgroup.dispatch.buffer import Buffer, checked_array
from vkgroup.dispatch.image import Image, Shaped, choose_format
from vkgroup.dispatch.slots import Slot
from vkgroup.spirv import ImageType, StructType
from vkgroup.spirv.array_layout import check_memory


def split(slot: Slot, item: Any) -> tuple[Any, Sampler | None]:
    """Split what is bound to a slot into the resource with memory and the sampler; None for a missing one.

    A combined image sampler is given an image or an array, alone or with a `Sampler` in a tuple; alone it is
    sampled with the nearest texel, and, for a shadow sampler, compared with ``"less_or_equal"``.
    """
    if slot.kind == "sampler":
        if not isinstance(item, Sampler):
            raise InvalidDispatch(f"{slot.label} is a sampler; give a vkgroup.Sampler.")
        return None, item
    if slot.kind != "combined_image_sampler":
        return item, None
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Sampler):
        return item
    if isinstance(item, Sampler):
        raise InvalidDispatch(f"{slot.label} is a sampler with its image; give (image, sampler).")
    shadow = slot.image is not None and slot.image.depth
    return item, Sampler(compare="less_or_equal" if shadow else None)


def check_sampled(slot: Slot, kind: ImageType, format: TexelFormat, sampler: Sampler, levels: int) -> None:
    """Raise `InvalidDispatch` with the reason where a sampler cannot sample an image of a format."""
    if kind.depth != (sampler.compare is not None):
        how = (
            "compares depths; give a Sampler with compare="
            if kind.depth
            else "compares nothing; leave compare"
        )
        raise InvalidDispatch(f"{slot.label} is a {kind.glsl}{'Shadow' * kind.depth}, which {how}.")
    linear = "linear" in (*sampler.filters, sampler.mipmap)
    if format.kind != "float" and linear:
        raise InvalidDispatch(
            f"{slot.label} has texels of {format.name}, which cannot be filtered; give a Sampler with"
            " filter='nearest'."
        )
    wanted = "float" if format.kind == "float" else "int"
    if sampler.uses_border and not sampler.border_color.startswith(wanted):
        raise InvalidDispatch(
            f"{slot.label} has texels of {format.name}; its border_color is one that begins with"
            f" {wanted + '_'!r}, not {sampler.border_color!r}."
        )
    if sampler.unnormalized and (kind.dimension not in ("1D", "2D") or kind.arrayed or levels > 1):
        raise InvalidDispatch(
            f"{slot.label}: coordinates that are not normalized are for 1D and 2D images of one level."
        )


def check_sampler(sampler: Sampler, device: DeviceBase) -> None:
    """Raise `Unsupported` where a device has no such sampler."""
    capabilities = device.capabilities
    mirrors = {"samplerMirrorClampToEdge", "VK_KHR_sampler_mirror_clamp_to_edge"}
    if "mirror_clamp_to_edge" in sampler.addresses and not mirrors & {
        *capabilities.features,
        *capabilities.extensions,
    }:
        raise Unsupported(
            f"{capabilities.name} has no address mode mirror_clamp_to_edge.", ["samplerMirrorClampToEdge"]
        )
    most = capabilities.limits.get("maxSamplerLodBias", float("inf"))
    if abs(sampler.lod_bias) > most:
        raise Unsupported(
            f"lod_bias {sampler.lod_bias} is over the limit of {capabilities.name}, {most}.",
            [f"maxSamplerLodBias of {abs(sampler.lod_bias)} (it is {most})"],
        )


def texel_format(slot: Slot, given: Shaped) -> TexelFormat:
    """Choose the format of a texel buffer: the shader's, or one that the array's dtype and axes ask for."""
    kind = slot.texels
    assert kind is not None
    if isinstance(given, Buffer) and kind.format in FORMATS:
        return FORMATS[kind.format]
    return choose_format(kind, given, slot.label)


def check_texel_buffer(slot: Slot, given: Shaped, nbytes: int, device: DeviceBase) -> None:
    """Check that memory bound as texels is a whole number of texels, and no more than the device can bind."""
    format = texel_format(slot, given)
    count, rest = divmod(nbytes, format.nbytes)
    if rest:
        raise InvalidDispatch(
            f"{slot.label} has texels of {format.nbytes} bytes ({format.name}); {nbytes} bytes are no whole"
            " number of them."
        )
    most = device.capabilities.limits["maxTexelBufferElements"]
    if count > most:
        raise Unsupported(
            f"{slot.label} is given {count} texels, over the device's maxTexelBufferElements of {most}."
            " Work in parts.",
            [f"maxTexelBufferElements of {count} (it is {most})"],
        )


def items_of(slot: Slot, value: Any) -> list[Any]:
    """Return the values of a slot: one, or those of an array of descriptors."""
    if slot.count == 1:
        return [value]
    if not isinstance(value, list | tuple) or len(value) != slot.count:
        given = f"{len(value)} given" if isinstance(value, list | tuple) else f"{type(value).__name__} given"
        raise InvalidDispatch(f"{slot.label} has {slot.count} descriptors; give a list of as many ({given}).")
    return list(value)


def check_value(slot: Slot, value: Any, device: DeviceBase) -> None:
    """Check a slot's value before anything is made for it: type, dtype, shape, size and number."""
    kind = slot.variables[0].type
    for given in items_of(slot, value):
        item, sampler = split(slot, given)
        if sampler is not None:
            check_sampler(sampler, device)
        if slot.kind == "sampler":
            continue
        if slot.kind == "acceleration_structure" or isinstance(item, AccelerationStructure):
            _check_structure(slot, item, device)
        elif isinstance(item, Buffer | Image):
            _check_resource(slot, item, device)
        else:
            item = checked_array(item, slot.label)
            check_block(slot, item)
            if isinstance(kind, StructType):
                _check_range(slot, item.nbytes, device)
        if slot.image is not None:
            format_ = item.format if isinstance(item, Image) else choose_format(slot.image, item, slot.label)
            if sampler is not None:
                levels = item.levels if isinstance(item, Image) else 1
                check_sampled(slot, slot.image, format_, sampler, levels)
        elif slot.texels is not None:
            check_texel_buffer(slot, item, item.nbytes, device)


def _check_structure(slot: Slot, item: Any, device: DeviceBase) -> None:
    """Check what rays are to be traced through: a structure, or an array that one is made of."""
    if not isinstance(item, AccelerationStructure):
        if isinstance(item, Buffer | Image):
            raise InvalidDispatch(f"{slot.label} is an acceleration structure; buffer or image given.")
        geometry_of(item, slot.label)
    elif slot.kind != "acceleration_structure":
        what = slot.kind.replace("_", " ")
        raise InvalidDispatch(f"{slot.label} is a {what}; acceleration structure given.")
    elif item.device is not device:
        raise InvalidDispatch(f"{slot.label} is given a resource of another device.")
    elif item.level != "top":
        raise InvalidDispatch(
            f"{slot.label} takes a top level, device.acceleration_structure([Instance(bottom)]); a bottom"
            " level is given."
        )
    elif item.closed:
        raise InvalidDispatch(
            f"{slot.label} is given a closed acceleration structure, or one of closed parts."
        )


def check_block(slot: Slot, array: npt.NDArray[Any]) -> None:
    """Check that an array's dtype, shape and size fit the block of a slot, if the slot has only one."""
    kind = slot.variables[0].type
    if isinstance(kind, StructType) and len(slot.variables) == 1:
        check_array(array, kind, slot.label)


def _check_resource(slot: Slot, item: Buffer | Image, device: DeviceBase) -> None:
    kind = slot.variables[0].type
    if item.device is not device:
        raise InvalidDispatch(f"{slot.label} is given a resource of another device.")
    if isinstance(item, Image) != (slot.image is not None):
        given = "image" if isinstance(item, Image) else "buffer"
        raise InvalidDispatch(f"{slot.label} is a {slot.kind.replace('_', ' ')}; {given} given.")
    if isinstance(item, Image) and slot.image is not None:
        _check_image(slot, item, slot.image)
        return
    if item.closed:
        raise InvalidDispatch(f"{slot.label} is given a closed buffer.")
    if isinstance(item, Buffer) and item.nbytes == 0:
        raise InvalidDispatch(f"{slot.label} is given an empty buffer, which Vulkan does not have.")
    if isinstance(item, Buffer) and item.offset % (step := offset_step(slot, device)):
        raise InvalidDispatch(
            f"{slot.label} is given a view from byte {item.offset} on; the device binds multiples of {step}"
            f" ({_offset_limit(slot)})."
        )
    if isinstance(kind, StructType):
        if len(slot.variables) == 1:
            check_memory(item.shape, item.dtype, kind, slot.label)
        if item.nbytes < kind.fixed_size:
            raise InvalidDispatch(
                f"{slot.label} has {kind.fixed_size} bytes; the buffer given has {item.nbytes}."
            )
        _check_range(slot, item.nbytes, device)


def offset_step(slot: Slot, device: DeviceBase) -> int:
    """Return the alignment of a view's offset; 1 on the reference device, which binds any."""
    return int(device.capabilities.limits.get(_offset_limit(slot), 1))


def _offset_limit(slot: Slot) -> str:
    kind = "Texel" if slot.texels is not None else "Uniform" if "uniform" in slot.kind else "Storage"
    return f"min{kind}BufferOffsetAlignment"


def _check_image(slot: Slot, image: Image, kind: ImageType) -> None:
    if image.closed:
        raise InvalidDispatch(f"{slot.label} is given a closed image.")
    if (image.dimension, image.arrayed) != (kind.dimension, kind.arrayed):
        raise InvalidDispatch(f"{slot.label} is a {kind.glsl}; a {image.dimension} image is given.")
    if (image.samples > 1) != kind.multisampled:
        raise InvalidDispatch(f"{slot.label} is a {kind.glsl}; the image given has {image.samples} samples.")
    if kind.format not in ("Unknown", image.format.name):
        raise InvalidDispatch(
            f"{slot.label} has the format {kind.format}; the image given has {image.format.name}."
        )
    if kind.sampled_type is not None and kind.sampled_type.kind != image.format.kind:
        raise InvalidDispatch(
            f"{slot.label} is a {kind.glsl}; the image given has the format {image.format.name}."
        )
    use = "storage" if slot.kind == "storage_image" else "sampled"
    if use not in image.uses:
        how = "a format that the device has storage images of" if use == "storage" else "sampled=True"
        raise InvalidDispatch(
            f"{slot.label} is a {slot.kind.replace('_', ' ')}, and the image given is not made for that; make"
            f" it with {how}."
        )


def _check_range(slot: Slot, nbytes: int, device: DeviceBase) -> None:
    name = "maxUniformBufferRange" if slot.kind == "uniform_buffer" else "maxStorageBufferRange"
    most = device.capabilities.limits[name]
    if nbytes > most:
        raise Unsupported(
            f"{slot.label} is given {nbytes} bytes, over the device's {name} of {most}. Work in parts.",
            [f"{name} of {nbytes} (it is {most})"],
        )
