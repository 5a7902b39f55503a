"""Color and depth attachments of a draw, from formats, arrays and images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.blocks import suggestion
from vkgroup.dispatch.buffer import checked_array
from vkgroup.dispatch.formats import named_format
from vkgroup.dispatch.image import Image
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.formats import FORMATS, Format, fitting
from vkgroup.spirv import ArrayType, EntryPoint, StageVariable

#: Components of the formats that attachments have, by those of an output.
_FORMAT_COMPONENTS = {1: 1, 2: 2, 3: 4, 4: 4}


@dataclass(frozen=True, eq=False)
class Attachment:
    """One image that a draw writes to.

    Attributes
    ----------
    name : of the output; ``"depth"`` of the depth attachment.
    location : of the output; None of the depth attachment.
    format : its texels.
    image : the caller's image; None where one is made.
    before : its contents before the draw, (height, width[, components]); None clears it.
    components : how many of the format's the shader writes.
    """

    name: str
    location: int | None
    format: Format
    image: Image | None = None
    before: npt.NDArray[Any] | None = None
    components: int = 4


@dataclass(frozen=True)
class _Output:
    name: str
    location: int
    kind: str
    components: int


def color_attachments(
    entry: EntryPoint, given: Mapping[Any, Any], size: tuple[int, int], device: DeviceBase
) -> tuple[Attachment, ...]:
    """Find an attachment for each output of a fragment shader.

    Parameters
    ----------
    entry : the fragment shader.
    given : by the output's name or location: a format's name, an array of what is there before the draw, or
        an `Image`. An output that is left out gets 32 bits a component.
    size : width and height of the draw.
    device : what it runs on.

    Raises
    ------
    InvalidDispatch
        There is no such output; format, shape, dtype or size does not fit.
    Unsupported
        An output is of no type that attachments have, or there are more than the device takes.
    """
    outputs = _outputs(entry)
    chosen: dict[int, Any] = {}
    for key, value in given.items():
        matching = [item for item in outputs if key in (item.name, item.location)]
        if not matching:
            names = [item.name or str(item.location) for item in outputs]
            raise InvalidDispatch(f"The fragment shader has no output {key!r}.{suggestion(key, names)}")
        if matching[0].location in chosen:
            raise InvalidDispatch(f"The fragment shader's output {matching[0].name!r} is given twice.")
        chosen[matching[0].location] = value
    most = device.capabilities.limits["maxColorAttachments"]
    needed = max((item.location + 1 for item in outputs), default=0)
    if needed > most:
        lacking = f"maxColorAttachments of {needed} (it is {most})"
        raise Unsupported(f"{device.capabilities.name} lacks: {lacking}.", [lacking])
    return tuple(_color(item, chosen.get(item.location), size, device) for item in outputs)


def depth_attachment(given: Any, size: tuple[int, int], device: DeviceBase) -> Attachment | None:
    """Find the depth attachment: a format's name, an array, an `Image`, or None for none."""
    if given is None:
        return None
    image = given if isinstance(given, Image) else None
    before = None
    if image is not None:
        format_ = image.format
    elif isinstance(given, str):
        format_ = named_format(given)
    else:
        before = checked_array(given, "depth")
        guess = fitting(before.dtype, 1, None, depth=True)
        if guess is None:
            raise InvalidDispatch(f"depth takes float32 or uint16 arrays; {before.dtype.name} was given.")
        format_ = guess
    if not format_.depth:
        raise InvalidDispatch(f"depth takes the formats d32f and d16; {format_.name} was given.")
    attachment = Attachment("depth", None, format_, image, before, 1)
    check_size(attachment, size, device)
    return attachment


def _outputs(entry: EntryPoint) -> list[_Output]:
    """Collect the outputs, each element of an array by itself, components of one location together."""
    outputs: dict[int, _Output] = {}
    for item in entry.variables.outputs:
        if item.index:
            raise Unsupported(f"The output {item.name!r} is for dual-source blending.", ["dualSrcBlend"])
        length = item.type.length if isinstance(item.type, ArrayType) else None
        for number in range(length or 1):
            name = item.name if length is None else f"{item.name}[{number}]"
            output = _output(item, name, item.location + number)
            other = outputs.get(output.location)
            if other is not None:
                most = max(output.components, other.components)
                output = _Output(other.name, output.location, output.kind, most)
            outputs[output.location] = output
    return [outputs[location] for location in sorted(outputs)]


def _output(item: StageVariable, name: str, location: int) -> _Output:
    scalar = item.scalar
    if scalar is None or scalar.kind not in ("float", "int", "uint") or scalar.bits > 32:
        raise Unsupported(f"The output {item.name!r} is of no type that attachments have.", [str(item.type)])
    return _Output(name, location, scalar.kind, item.component + item.components)


def _color(output: _Output, given: Any, size: tuple[int, int], device: DeviceBase) -> Attachment:
    image = before = None
    components = output.components
    what = f"The output {output.name or output.location!r}"
    if given is None:
        prefix = {1: "R", 2: "Rg", 4: "Rgba"}[_FORMAT_COMPONENTS[components]]
        format_ = FORMATS[f"{prefix}32{ {'float': 'f', 'int': 'i', 'uint': 'ui'}[output.kind] }"]
    elif isinstance(given, Image):
        image, format_ = given, given.format
    elif isinstance(given, str):
        format_ = named_format(given)
    else:
        before = checked_array(given, what)
        channels = before.shape[2] if before.ndim == 3 else 1
        guess = fitting(before.dtype, channels, output.kind)
        if guess is None:
            raise InvalidDispatch(
                f"{what}: no format for {output.kind}s has {channels} components of {before.dtype.name}."
            )
        format_ = guess
    if format_.kind != output.kind or format_.depth:
        raise InvalidDispatch(f"{what} writes {output.kind}s; the format {format_.name} does not hold them.")
    if given is not None:
        components = format_.components
    attachment = Attachment(output.name, output.location, format_, image, before, components)
    check_size(attachment, size, device)
    return attachment


def check_size(attachment: Attachment, size: tuple[int, int], device: DeviceBase) -> None:
    """Check that an image or array has the draw's size."""
    image, before, what = attachment.image, attachment.before, f"The attachment {attachment.name!r}"
    if image is not None:
        if image.device is not device or image.closed:
            raise InvalidDispatch(f"{what} is given an image that is closed or of another device.")
        if (image.dimension, image.arrayed, image.levels) != ("2D", False, 1):
            raise InvalidDispatch(f"{what} takes a 2D image without layers and levels; another is given.")
        if image.extent[:2] != size:
            raise InvalidDispatch(f"{what} is given an image of {image.extent[:2]}; the draw is {size}.")
        if "attachment" not in image.uses:
            raise Unsupported(
                f"{device.capabilities.name} cannot draw to images of the format {image.format.name}.",
                [image.format.vulkan],
            )
    elif before is not None and before.shape[:2] != size[::-1]:
        raise InvalidDispatch(
            f"{what} is given an array of shape {before.shape}; the draw has {size[1]} rows of {size[0]}."
        )


def check_attachments(
    attachments: Sequence[Attachment], bound: Iterable[Image], *, samples: int, resolve: bool
) -> None:
    """Check that a draw can write to all of its attachments, and that its results can be read.

    Parameters
    ----------
    attachments : of one draw.
    bound : images that its shaders see.
    samples, resolve : of the draw.

    Raises
    ------
    InvalidDispatch
        An image is given twice, or a draw with several samples is given contents or an image of one sample.
    """
    taken = {id(image) for image in bound}
    for attachment in attachments:
        what, image = f"The attachment {attachment.name or attachment.location!r}", attachment.image
        # VUID-vkCmdDraw-None-06537 and 09000: what a draw writes to, it must not see or write to otherwise.
        if image is not None and id(image) in taken:
            raise InvalidDispatch(
                f"{what} is given an image that is also bound to the shaders, or is another attachment;"
                " a draw cannot use it for both. Give two images."
            )
        taken.add(id(image))
        if samples == 1:
            continue
        if attachment.before is not None:
            raise InvalidDispatch(
                f"{what} is given contents of one sample, and the draw has {samples}: it begins cleared."
                " Give a format's name."
            )
        if image is not None and image.samples != samples and (attachment.location is None or not resolve):
            how = "depths are not resolved" if attachment.location is None else "resolve is False"
            raise InvalidDispatch(
                f"{what} is given an image of one sample, which nothing of {samples} samples reaches: {how}."
                " Give a format's name, and take the result."
            )


def trimmed(array: npt.NDArray[Any], attachment: Attachment) -> npt.NDArray[Any]:
    """Return an attachment's array without components that no shader wrote."""
    if attachment.format.components <= attachment.components:
        return array
    return np.ascontiguousarray(array[..., : attachment.components])
