"""Color and depth attachments of a draw, and the images that they are drawn to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.base.formats import FORMATS, TexelFormat, fitting
from vkgroup.device.base import DeviceBase
from vkgroup.device.requirements import require
from vkgroup.dispatch.buffer import checked_array
from vkgroup.dispatch.draw_state import DrawState
from vkgroup.dispatch.image import Image, named_format
from vkgroup.dispatch.vertices import MeshGroups, Vertices, by_location
from vkgroup.spirv import ArrayType, EntryPoint

#: Components of the formats that attachments have, by those of an output.
_FORMAT_COMPONENTS = {1: 1, 2: 2, 3: 4, 4: 4}


@dataclass(frozen=True, eq=False)
class Attachment:
    """One image that a draw writes to."""

    name: str  # name of the output; ``"depth"`` for the depth attachment
    location: int | None  # location of the output; None for the depth attachment
    format: TexelFormat  # format of the texels
    image: Image | None = None  # the caller's image; None if a new image is made
    # contents before the draw, (height, width[, components]); None clears it
    before: npt.NDArray[Any] | None = None
    components: int = 4  # number of the format's components that the shader writes


@dataclass(frozen=True)
class ColorOutput:
    """A color output of a fragment shader."""

    name: str
    location: int
    kind: str
    components: int

    @property
    def format(self) -> TexelFormat:
        """The format that holds the output without loss: 32 bits per component."""
        prefix = {1: "R", 2: "Rg", 4: "Rgba"}[_FORMAT_COMPONENTS[self.components]]
        return FORMATS[f"{prefix}32{ {'float': 'f', 'int': 'i', 'uint': 'ui'}[self.kind] }"]


def color_attachments(
    entry: EntryPoint, given: Mapping[Any, Any], size: tuple[int, int], device: DeviceBase
) -> tuple[Attachment, ...]:
    """Return an attachment for each output of a fragment shader, from what is `given` by name or location.

    That is a format's name, an array with the contents before the draw, or an `Image`; an output that is left
    out has 32 bits a component.
    """
    outputs = color_outputs(entry)
    chosen = by_location(given, outputs, "fragment shader", "output")
    most = device.capabilities.limits["maxColorAttachments"]
    needed = max((item.location + 1 for item in outputs), default=0)
    if needed > most:
        require(device.capabilities, [f"maxColorAttachments of {needed} (it is {most})"])
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


def color_outputs(entry: EntryPoint) -> list[ColorOutput]:
    """Collect the outputs, each element of an array by itself, components of one location together."""
    outputs: dict[int, ColorOutput] = {}
    for item in entry.variables.outputs:
        if item.index:
            raise Unsupported(f"The output {item.name!r} is for dual-source blending.", ["dualSrcBlend"])
        scalar = item.scalar
        if scalar is None or scalar.kind not in ("float", "int", "uint") or scalar.bits > 32:
            raise Unsupported(
                f"The output {item.name!r} is of no type that attachments have.", [str(item.type)]
            )
        length = item.type.length if isinstance(item.type, ArrayType) else None
        for number in range(length or 1):
            name = item.name if length is None else f"{item.name}[{number}]"
            location, components = item.location + number, item.component + item.components
            other = outputs.get(location)
            if other is not None:
                name, components = other.name, max(components, other.components)
            outputs[location] = ColorOutput(name, location, scalar.kind, components)
    return [outputs[location] for location in sorted(outputs)]


def _color(output: ColorOutput, given: Any, size: tuple[int, int], device: DeviceBase) -> Attachment:
    image = before = None
    components = output.components
    what = f"The output {output.name or output.location!r}"
    if given is None:
        format_ = output.format
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
    """Check that a draw can write to all of its attachments, none of which its shaders see (`bound`)."""
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


@dataclass(frozen=True)
class DrawData:
    """Data that is bound to a graphics pipeline besides its descriptors; `size` is in pixels."""

    size: tuple[int, int]
    vertices: Vertices | MeshGroups
    attachments: tuple[Attachment, ...]


class ImageSource:
    """Makes images for draws, and takes them back afterwards."""

    def __init__(self, device: DeviceBase, images: type[Image]) -> None:
        self.device, self._images = device, images

    def take(self, shape: tuple[int, ...], format_: TexelFormat, samples: int) -> Image:
        """Return an image to draw to; its contents are undefined."""
        return self._images(self.device, shape, format_, samples=samples, attachment=True)

    def give_back(self, image: Image) -> None:
        """Take an image back."""
        image.close()

    def read(self, images: Sequence[Image]) -> list[npt.NDArray[Any]]:
        """Read whole images."""
        return [image.read() for image in images]


class DrawImages:
    """The images of a draw's attachments, and the images to which colors of several samples are resolved."""

    def __init__(self, data: DrawData, state: DrawState, source: ImageSource) -> None:
        self._data, self._state, self._source = data, state, source
        self.images: dict[Attachment, Image] = {}
        self.resolved: dict[Attachment, Image] = {}
        self.resolves = bool(state.resolve) and state.samples > 1
        self._taken: list[Image] = []

    def make(self, bound: Iterable[Image], result_keys: Iterable[Any]) -> None:
        """Make the images of attachments without one; refuses images that shaders see, and keys in use."""
        samples, attachments = self._state.samples, self._data.attachments
        check_attachments(attachments, bound, samples=samples, resolve=self.resolves)
        # Of two results with one key, one would be lost.
        keys = set(result_keys)
        for attachment in self._own():
            key = key_of(attachment)
            if key in keys:
                raise InvalidDispatch(
                    f"Two results of the draw are called {key!r}. Give an Image or a Buffer for one of them,"
                    " which is read by itself, or change the name in the shader."
                )
            keys.add(key)
        for attachment in attachments:
            given = attachment.image
            if samples > 1 and not (given is not None and given.samples == samples):
                self.images[attachment] = self._take(attachment, samples)
                if self.resolves and attachment.location is not None:
                    self.resolved[attachment] = given or self._take(attachment, 1)
                continue
            self.images[attachment] = given or self._take(attachment, 1)
            if given is None and attachment.before is not None:
                self.images[attachment].write(attachment.before)

    def clears(self, attachment: Attachment) -> bool:
        """Whether an attachment is cleared before the draw: it has no contents that the caller gave."""
        if attachment.image is None:
            return attachment.before is None
        # Samples that are resolved into the caller's image are new: they have no contents yet.
        return self.images[attachment] is not attachment.image

    @property
    def closed(self) -> bool:
        """Whether one of the images was closed."""
        return any(image.closed for image in (*self.images.values(), *self.resolved.values()))

    def results(self) -> dict[Any, npt.NDArray[Any]]:
        """Read back the attachments that the caller gave no image for, by `key_of`."""
        images = self.result_images()
        arrays = self._source.read(list(images.values()))
        return {
            key_of(attachment): self.in_results(attachment, array)
            for attachment, array in zip(images, arrays, strict=True)
        }

    def result_images(self) -> dict[Attachment, Image]:
        """Return the images that `results` reads, by attachment."""
        return {item: self.resolved.get(item) or self.images[item] for item in self._own()}

    def in_results(self, attachment: Attachment, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an image's array as results have it: only written components; one sample of depths."""
        if self.resolves and attachment.location is None:
            array = array[:, :, 0]
        if attachment.format.components <= attachment.components:
            return array
        return np.ascontiguousarray(array[..., : attachment.components])

    def close(self) -> None:
        """Give back the images that were made; the caller's stay."""
        taken, self._taken = self._taken, []
        for image in taken:
            self._source.give_back(image)

    def _own(self) -> list[Attachment]:
        return [attachment for attachment in self._data.attachments if attachment.image is None]

    def _take(self, attachment: Attachment, samples: int) -> Image:
        width, height = self._data.size
        format_ = attachment.format
        shape = (
            (height, width) + (samples,) * (samples > 1) + (format_.components,) * (format_.components > 1)
        )
        image = self._source.take(shape, format_, samples)
        self._taken.append(image)
        return image


def key_of(attachment: Attachment) -> Any:
    """Return the key of an attachment in a draw's results: its name, or its location."""
    return attachment.name or ("location", attachment.location)
