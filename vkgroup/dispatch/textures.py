"""Images with samplers, samplers, and texel buffers: checks of what is bound to them."""

from __future__ import annotations

from typing import Any

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.formats import Format, Shaped, choose_format
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.slots import Slot
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.formats import FORMATS
from vkgroup.sampler import Sampler
from vkgroup.spirv import ImageType


def split(slot: Slot, item: Any) -> tuple[Any, Sampler | None]:
    """Split what is bound to a slot into the resource with memory and the sampler; None for a missing one.

    A combined image sampler is given an image or an array, alone or with a `Sampler` in a tuple; alone it
    is sampled with the nearest texel, and, for a shadow sampler, compared with ``"less_or_equal"``.

    Raises
    ------
    InvalidDispatch
        It is no sampler where one is needed.
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


def check_sampled(slot: Slot, kind: ImageType, format: Format, sampler: Sampler, levels: int) -> None:
    """Check that a sampler can sample an image of a format.

    Raises
    ------
    InvalidDispatch
        It cannot; says why.
    """
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


def texel_format(slot: Slot, given: Shaped) -> Format:
    """Choose the format of a texel buffer: the shader's, or one that the array's dtype and axes ask for."""
    kind = slot.texels
    assert kind is not None
    if isinstance(given, Buffer) and kind.format in FORMATS:
        return FORMATS[kind.format]
    return choose_format(kind, given, slot.label)


def check_texel_buffer(slot: Slot, given: Shaped, nbytes: int, device: DeviceBase) -> None:
    """Check memory that is bound as texels.

    Raises
    ------
    InvalidDispatch
        It is no whole number of texels.
    Unsupported
        It has more texels than the device can bind.
    """
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


def require_use(slot: Slot, image: Image) -> None:
    """Raise `InvalidDispatch` where an image was not made for the use that a shader makes of it."""
    use = "storage" if slot.kind == "storage_image" else "sampled"
    if use not in image.uses:
        how = "a format that the device has storage images of" if use == "storage" else "sampled=True"
        raise InvalidDispatch(
            f"{slot.label} is a {slot.kind.replace('_', ' ')}, and the image given is not made for that; make"
            f" it with {how}."
        )
