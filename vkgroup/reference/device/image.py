"""Images of the reference device."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup import formats
from vkgroup.dispatch.image import Image
from vkgroup.errors import Unsupported
from vkgroup.reference.device.memory import allocate, write
from vkgroup.reference.interpreter.images.memory import ImageMemory


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
        x, y, z = (most if axis < int(self.dimension[0]) else 1 for axis in range(3))
        return (x, y, z), int(limits["maxImageArrayLayers"])

    def _create(self) -> None:
        width, height, depth = self.extent
        format_ = formats.find(self.format.name)
        if format_ is None:
            raise Unsupported(f"There are no images of format {self.format.name}.", [self.format.name])
        self.memory = ImageMemory(
            allocate(self.nbytes),
            f"an image of {self.shape}",
            format_,
            dimension=self.dimension,
            extent=(width, height, depth),
            arrayed=self.arrayed,
            layers=self.layers,
            defined=False,
        )

    def _write(self, texels: npt.NDArray[np.uint8]) -> None:
        assert self.memory is not None
        write(self.memory, texels)

    def _read(self) -> npt.NDArray[np.uint8]:
        assert self.memory is not None
        return self.memory.data.copy()

    @property
    def closed(self) -> bool:
        """Whether the image was closed."""
        return self.memory is None

    def close(self) -> None:
        """Free the texels."""
        if self.memory is not None:
            self.memory = None
            self.device.forget(self)
