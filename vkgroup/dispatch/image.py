"""Images on a device, and the texel formats of arrays."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import DriverError, InvalidDispatch, Unsupported
from vkgroup.base.formats import FORMATS, TexelFormat, find, fitting
from vkgroup.base.lifetime import Closeable
from vkgroup.base.suggestions import suggestion
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.buffer import as_bytes, checked_array
from vkgroup.spirv import ImageType

#: Axes of an image's array by SPIR-V's dimension, without layers, faces and components.
AXES = {"1D": 1, "2D": 2, "3D": 3, "Cube": 2, "Buffer": 1}


class Shaped(Protocol):
    """An object with the dtype and the shape of an array."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""


def choose_format(kind: ImageType, array: Shaped, what: str) -> TexelFormat:
    """Choose the format of an image or texel buffer that a module declares, to be filled from `array`.

    A format that the module leaves open follows the array's dtype, its axes, and what the shader reads: 8-bit
    texels are normalized where it reads floats.
    """
    if kind.dimension not in AXES or kind.multisampled:
        raise Unsupported(f"{what}: images of type {kind.glsl} cannot be made from arrays.", [kind.glsl])
    if kind.format == "Unknown":
        return _guess(kind, array, what)
    format_ = FORMATS.get(kind.format)
    if format_ is None:
        raise Unsupported(f"{what}: images of format {kind.format} cannot be made.", [kind.format])
    if array.dtype != format_.dtype:
        raise InvalidDispatch(
            f"{what} has the format {format_.name}, whose texels are {format_.dtype.name}; the array given is"
            f" {array.dtype.name}. Use array.astype(np.{format_.dtype.name})."
        )
    return format_


def _guess(kind: ImageType, array: Shaped, what: str) -> TexelFormat:
    axes = AXES[kind.dimension] + (kind.arrayed or kind.dimension == "Cube")
    components = array.shape[-1] if len(array.shape) == axes + 1 else 1
    reads = None if kind.sampled_type is None else kind.sampled_type.kind
    format_ = fitting(array.dtype, components, reads, depth=kind.depth)
    if format_ is None:
        read = "" if reads is None else f" that {kind.glsl} reads"
        raise InvalidDispatch(
            f"{what}: no image format{read} has {components} components of {array.dtype.name}."
        )
    return format_


def named_format(name: str) -> TexelFormat:
    """Return the format of a name in SPIR-V or GLSL (``"R32ui"``, ``"rgba8_snorm"``)."""
    format_ = find(name)
    if format_ is None:
        raise InvalidDispatch(f"There is no image format {name!r}.{suggestion(name, FORMATS)}")
    return format_


class Image(Closeable):
    """An image; `Device.image` makes it.

    The array's axes are those of NumPy images: layers first (of a cube: faces, in the order +x, -x, +y, -y,
    +z, -z), then depth, height, width, and last the components where the format has more than one.

    Attributes
    ----------
    shape, dtype : of the arrays that it is written from and read into.
    format : its texels.
    dimension : ``"1D"``, ``"2D"``, ``"3D"`` or ``"Cube"``.
    arrayed : whether it has layers.
    layers : how many; 1 without. A cube has six times as many.
    levels : how many sizes it has, each half of the one before.
    extent : texels in x, y, z.
    samples : of each texel. An image of several is two-dimensional, and its arrays have the shape (height,
        width, samples[, components]); only draws write to it.
    nbytes : of all texels of level 0.
    uses : ``"storage"`` where shaders may read and write single texels, ``"sampled"`` where they may sample,
        ``"attachment"`` where draws may write to it.
    device : the device that it was made from.
    """

    uses: frozenset[str] = frozenset({"storage", "sampled", "attachment"})

    def __init__(
        self,
        device: DeviceBase,
        shape: tuple[int, ...],
        format_: TexelFormat,
        *,
        dimension: str = "2D",
        arrayed: bool = False,
        levels: int = 1,
        sampled: bool = False,
        samples: int = 1,
        attachment: bool = False,
    ) -> None:
        self.device = device
        self.format, self.dimension, self.arrayed, self.levels = format_, dimension, arrayed, levels
        self.shape, self.dtype = shape, format_.dtype
        self._sampled, self._attachment, self.samples = sampled, attachment, samples
        layered = arrayed or dimension == "Cube"
        axes = AXES[dimension] + layered + (samples > 1) + (format_.components > 1)
        components = shape[-1] if format_.components > 1 and shape else 1
        if len(shape) != axes or components != format_.components:
            names = ("faces, " if dimension == "Cube" else "layers, ") * layered
            names += ", ".join(("depth", "height", "width")[3 - AXES[dimension] :])
            names += f", {format_.components}" * (format_.components > 1)
            raise InvalidDispatch(
                f"A {dimension} image of format {format_.name} takes arrays of shape ({names}); the array"
                f" given has the shape {shape}."
            )
        self.layers = shape[0] if layered else 1
        extent = shape[int(layered) : int(layered) + AXES[dimension]]
        self.extent: tuple[int, ...] = (*reversed(extent), 1, 1)[:3]
        self.nbytes = math.prod(shape) * format_.dtype.itemsize
        self._check_shape()
        device.require_open()
        self._check_limits()
        with device.making(self):
            self._create()

    def _check_shape(self) -> None:
        whole = self.layers % 6 == 0 if self.arrayed else self.layers == 6
        if self.dimension == "Cube" and (not whole or self.extent[0] != self.extent[1]):
            number = "a multiple of 6" if self.arrayed else "6"
            raise InvalidDispatch(f"A cube has {number} square faces; the array's shape is {self.shape}.")
        most = max(self.extent).bit_length()
        if not 1 <= self.levels <= most:
            raise InvalidDispatch(
                f"An image of shape {self.shape} has at most {most} levels; {self.levels} are given."
            )

    def shape_of(self, level: int) -> tuple[int, ...]:
        """Return the shape of a level's array: sizes are halved, layers and components stay."""
        first = int(self.arrayed or self.dimension == "Cube")
        last = first + AXES[self.dimension]
        sizes = tuple(max(1, size >> level) for size in self.shape[first:last])
        return (*self.shape[:first], *sizes, *self.shape[last:])

    def _check_limits(self) -> None:
        """Check the extent and layers against the limits of the device for such images."""
        name = self.device.capabilities.name
        most, most_layers = self._limits()
        if any(have > limit for have, limit in zip(self.extent, most, strict=True)):
            raise Unsupported(
                f"An image of {self.extent} is over the limit of {name}, {most}.",
                [f"maxExtent of {self.extent} (it is {most})"],
            )
        if self.layers > most_layers:
            raise Unsupported(
                f"{self.layers} layers are over the limit of {name}, maxArrayLayers {most_layers}.",
                [f"maxArrayLayers of {self.layers} (it is {most_layers})"],
            )

    @abstractmethod
    def _limits(self) -> tuple[tuple[int, int, int], int]:
        """Return the largest extent and number of layers; `Unsupported` without such images."""

    @abstractmethod
    def _create(self) -> None:
        """Make the image, its contents undefined."""

    @abstractmethod
    def _write(self, texels: npt.NDArray[np.uint8], level: int) -> None:
        """Copy all texels of a level into the image."""

    @abstractmethod
    def _read(self, level: int) -> npt.NDArray[np.uint8]:
        """Copy all texels of a level out of the image."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the image was closed."""

    def write(self, array: npt.ArrayLike, level: int = 0) -> None:
        """Copy a whole array into the image, or into one of its levels.

        Raises
        ------
        InvalidDispatch
            Its shape or dtype is not the image's; there is no such level.
        """
        data = checked_array(array, "Image.write")
        if self.samples > 1:
            raise InvalidDispatch("An image of several samples cannot be written to but by draws.")
        shape = self._checked_shape(level)
        if data.shape != shape or data.dtype != self.dtype:
            what = f"level {level} of the image" if level else "image"
            raise InvalidDispatch(
                f"The {what} takes {self.dtype.name} arrays of shape {shape};"
                f" {data.dtype.name} of shape {data.shape} was given."
            )
        self._require_open()
        self._write(as_bytes(data), level)

    def read(self, level: int = 0) -> npt.NDArray[Any]:
        """Copy the whole image, or one of its levels, into a new array."""
        shape = self._checked_shape(level)
        self._require_open()
        return self._read(level).view(self.dtype).reshape(shape)

    def defined(self) -> npt.NDArray[np.bool_] | None:
        """Return which bytes of level 0 are defined, (nbytes,); None where the device cannot tell."""
        return None

    def _checked_shape(self, level: int) -> tuple[int, ...]:
        if not 0 <= level < self.levels:
            raise InvalidDispatch(f"The image has the levels 0 to {self.levels - 1}; {level} was given.")
        return self.shape_of(level)

    def _require_open(self) -> None:
        self.device.require_open()
        if self.closed:
            raise DriverError("The image is closed; make a new one.")
