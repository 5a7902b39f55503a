"""Checks that bound arrays, buffers and images fit their slots."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.acceleration import AccelerationStructure, check_bound_structure, geometry_of
from vkgroup.dispatch.blocks import check_array
from vkgroup.dispatch.buffer import Buffer, checked_array
from vkgroup.dispatch.formats import choose_format
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.slots import Slot
from vkgroup.dispatch.textures import check_sampled, check_sampler, check_texel_buffer, require_use, split
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.spirv import ImageType, StructType


def items_of(slot: Slot, value: Any) -> list[Any]:
    """Return the values of a slot: one, or those of an array of descriptors."""
    if slot.count == 1:
        return [value]
    if not isinstance(value, list | tuple) or len(value) != slot.count:
        given = f"{len(value)} given" if isinstance(value, list | tuple) else f"{type(value).__name__} given"
        raise InvalidDispatch(f"{slot.label} has {slot.count} descriptors; give a list of as many ({given}).")
    return list(value)


def check_value(slot: Slot, value: Any, device: DeviceBase) -> None:
    """Check a slot's value before anything is made for it.

    Raises
    ------
    InvalidDispatch
        Its type, dtype, shape, size or number is wrong.
    Unsupported
        It is larger than the device can bind.
    """
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
    else:
        check_bound_structure(item, device, slot.label)


def check_block(slot: Slot, array: npt.NDArray[Any]) -> None:
    """Check that an array's dtype, shape and size fit the block of a slot, if the slot has only one.

    Raises
    ------
    InvalidDispatch
        They are not.
    """
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
    if isinstance(item, Buffer):
        _check_offset(slot, item.offset, device)
    if isinstance(kind, StructType):
        if item.nbytes < kind.fixed_size:
            raise InvalidDispatch(
                f"{slot.label} has {kind.fixed_size} bytes; the buffer given has {item.nbytes}."
            )
        _check_range(slot, item.nbytes, device)


def _check_offset(slot: Slot, offset: int, device: DeviceBase) -> None:
    """Refuse a view that begins where the device cannot bind it."""
    step = offset_step(slot, device)
    if offset % step:
        raise InvalidDispatch(
            f"{slot.label} is given a view from byte {offset} on; the device binds multiples of {step}"
            f" ({_offset_limit(slot)})."
        )


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
    require_use(slot, image)


def _check_range(slot: Slot, nbytes: int, device: DeviceBase) -> None:
    name = "maxUniformBufferRange" if slot.kind == "uniform_buffer" else "maxStorageBufferRange"
    most = device.capabilities.limits[name]
    if nbytes > most:
        raise Unsupported(
            f"{slot.label} is given {nbytes} bytes, over the device's {name} of {most}. Work in parts.",
            [f"{name} of {nbytes} (it is {most})"],
        )
