"""Images of the reference device."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.image import AXES, Image
from vkgroup.reference.device.memory import allocate, write
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory


class ReferenceImage(Image):
    """An image in Python's memory.

    Attributes
    ----------
    memory : as the interpreter knows it; None when closed.
    """

    memory: ImageMemory | None = None

    def _limits(self) -> tuple[tuple[int, int, int], int]:
        limits = self.device.capabilities.limits
        most = int(limits[f"maxImageDimension{self.dimension}"])
        x, y, z = (most if axis < AXES[self.dimension] else 1 for axis in range(3))
        return (x, y, z), int(limits["maxImageArrayLayers"])

    def _create(self) -> None:
        width, height, depth = self.extent
        sizes = [math.prod(self.shape_of(level)) for level in range(self.levels)]
        self.memory = ImageMemory(
            allocate(sum(sizes) * self.dtype.itemsize),
            f"an image of {self.shape}",
            self.format,
            dimension=self.dimension,
            extent=(width, height, depth),
            arrayed=self.arrayed,
            layers=self.layers,
            levels=self.levels,
            samples=self.samples,
            defined=False,
        )

    def _write(self, texels: npt.NDArray[np.uint8], level: int) -> None:
        assert self.memory is not None
        write(self.memory, texels, int(self.memory.starts[level]))

    def _read(self, level: int) -> npt.NDArray[np.uint8]:
        assert self.memory is not None
        return self.memory.data[self.memory.starts[level] : self.memory.starts[level + 1]].copy()

    @property
    def closed(self) -> bool:
        """Whether the image was closed."""
        return self.memory is None

    def close(self) -> None:
        """Free the texels."""
        if self.memory is not None:
            self.memory = None
            self.device.forget(self)
