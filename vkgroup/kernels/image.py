"""Size and texels of arrays that the image kernels use as images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.types import dtype_of


@dataclass(frozen=True)
class ImageExtent:
    """The size and texel format of an image.

    Attributes
    ----------
    height, width : in texels.
    components : 1 or 4.
    """

    height: int
    width: int
    components: int

    @property
    def texel(self) -> str:
        """GLSL's type of a texel."""
        return "float" if self.components == 1 else "vec4"


def image_extent(dtype: npt.DTypeLike, shape: tuple[int, ...]) -> ImageExtent:
    """Return the size and texel format of an image array.

    Raises
    ------
    InvalidDispatch
        The dtype is not float32, or the shape is neither (height, width), (height, width, 1) nor (height,
        width, 4).
    """
    kind = dtype_of(dtype)
    if kind != np.float32:
        raise InvalidDispatch(
            f"Images must be float32; {kind} was given. Convert it with .astype(np.float32)."
        )
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 4)):
        raise InvalidDispatch(
            f"An image must have the shape (height, width), or (height, width, 1 or 4); {tuple(shape)}"
            " was given."
        )
    return ImageExtent(int(shape[0]), int(shape[1]), int(shape[2]) if len(shape) == 3 else 1)
