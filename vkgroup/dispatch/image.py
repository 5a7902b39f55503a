"""Storage images on a device."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.closing import Closing
from vkgroup.device.owner import Owner
from vkgroup.dispatch.buffer import as_bytes, checked_array
from vkgroup.dispatch.formats import AXES, Format
from vkgroup.errors import DriverError, InvalidDispatch, Unsupported


class Image(Closing):
    """A storage image; `Device.image` makes it.

    The array's axes are those of NumPy images: layers first, then depth, height, width, and last the
    components where the format has more than one.

    Attributes
    ----------
    shape, dtype : of the arrays that it is written from and read into.
    format : its texels.
    dimension : ``"1D"``, ``"2D"`` or ``"3D"``.
    arrayed : whether it has layers.
    layers : how many; 1 without.
    extent : texels in x, y, z.
    nbytes : of all texels.
    device : what it was made from.
    """

    def __init__(
        self,
        device: Owner,
        shape: tuple[int, ...],
        format_: Format,
        *,
        dimension: str = "2D",
        arrayed: bool = False,
    ) -> None:
        self.device = device
        self.format, self.dimension, self.arrayed = format_, dimension, arrayed
        self.shape, self.dtype = shape, format_.dtype
        axes = AXES[dimension] + arrayed + (format_.components > 1)
        components = shape[-1] if format_.components > 1 and shape else 1
        if len(shape) != axes or components != format_.components:
            names = "layers, " * arrayed + ", ".join(("depth", "height", "width")[3 - AXES[dimension] :])
            names += f", {format_.components}" * (format_.components > 1)
            raise InvalidDispatch(
                f"A {dimension} image of format {format_.name} takes arrays of shape ({names}); the array"
                f" given has the shape {shape}."
            )
        self.layers = shape[0] if arrayed else 1
        extent = shape[int(arrayed) : int(arrayed) + AXES[dimension]]
        self.extent: tuple[int, ...] = (*reversed(extent), 1, 1)[:3]
        self.nbytes = math.prod(shape) * format_.dtype.itemsize
        device.require_open()
        self._check_limits()
        device.register(self)
        self._holding = True
        try:
            self._create()
        except DriverError:
            self.close()
            raise
        device.raise_validation_errors()

    def _check_limits(self) -> None:
        """Compare format and extent with what the device has for storage images."""
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
        """Largest extent and number of layers of such images; `Unsupported` where there are none."""

    @abstractmethod
    def _create(self) -> None:
        """Make the image, its contents undefined."""

    @abstractmethod
    def _write(self, texels: npt.NDArray[np.uint8]) -> None:
        """Copy all texels into the image."""

    @abstractmethod
    def _read(self) -> npt.NDArray[np.uint8]:
        """Copy all texels out of the image."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the image was closed."""

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
        self._write(as_bytes(data))

    def read(self) -> npt.NDArray[Any]:
        """Copy the whole image into a new array."""
        self._require_open()
        return self._read().view(self.dtype).reshape(self.shape)

    def _require_open(self) -> None:
        self.device.require_open()
        if self.closed:
            raise DriverError("The image is closed; make a new one.")
