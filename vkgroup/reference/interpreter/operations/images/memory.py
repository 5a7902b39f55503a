"""Images as memory: the offset of each texel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.formats import Format
from vkgroup.reference.interpreter.operations.images.conversions import decode, encode
from vkgroup.reference.interpreter.operations.memory import Memory, Offsets
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Value,
    combine,
    marked,
    reduce_cause,
    single,
)
from vkgroup.spirv import ScalarType, Type, VectorType

#: Axes of a level by SPIR-V's dimension, without layers.
AXES = {"1D": 1, "2D": 2, "3D": 3, "Cube": 2, "Rect": 2, "Buffer": 1}


class ImageMemory(Memory):
    """The texels of an image or a texel buffer, one after the other.

    They are in the order of level, layer (of a cube: face), depth, height and width.

    Parameters
    ----------
    data : uint8; used as it is. It may be longer than the texels.
    name : for messages.
    format : of the texels.
    dimension : SPIR-V's name: ``"1D"``, ``"2D"``, ``"3D"``, ``"Cube"`` or ``"Buffer"``.
    extent : width, height and depth of level 0 in texels.
    arrayed : whether it has layers.
    layers : number of layers; six for each cube.
    levels : number of levels, each of half the size of the one before.
    samples : samples of each texel.
    defined : whether the texels have a meaning before the first write.
    """

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        name: str,
        format: Format,
        *,
        dimension: str = "2D",
        extent: tuple[int, int, int],
        arrayed: bool = False,
        layers: int = 1,
        levels: int = 1,
        samples: int = 1,
        defined: bool = True,
    ) -> None:
        super().__init__(data, name, defined=defined, kind="image")
        self.refine(min(4, format.dtype.itemsize))
        self.format, self.dimension, self.arrayed = format, dimension, arrayed
        self.layers, self.levels, self.samples = layers, levels, samples
        #: Width, height and depth of each level, (levels, 3).
        self.extents = np.array(
            [[max(1, size >> level) for size in extent] for level in range(levels)], np.int64
        )
        sizes = self.extents.prod(axis=1) * (layers * samples * format.nbytes)
        #: The first byte of each level, and the end of the last one, (levels + 1,).
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if self.starts[-1] > data.size:
            raise ValueError(f"{name}: {data.size} bytes are less than the {self.starts[-1]} of its texels")

    @property
    def axes(self) -> int:
        """Axes of a level, without layers."""
        return AXES[self.dimension]

    @property
    def cubes(self) -> int:
        """Layers as a shader counts them when it samples: cubes, not faces."""
        return self.layers // 6 if self.dimension == "Cube" else self.layers

    def texels(self, level: int = 0) -> npt.NDArray[Any]:
        """Return a view of a level as an array (layers, depth, height, width, components)."""
        width, height, depth = self.extents[level]
        data = self.data[self.starts[level] : self.starts[level + 1]].view(self.format.dtype)
        return data.reshape(self.layers, depth, height, width * self.samples, self.format.components)

    def offsets(self, position: Data, layer: Data, level: Data, sample: Data | int = 0) -> Offsets:
        """Return the offsets of texels by their coordinates.

        Parameters
        ----------
        position : integer x, y and z on the axes that the image has, (axes, n).
        layer, level, sample : (n,) or (1,).

        Returns
        -------
        The first byte of each, (n,); the end of the image for coordinates outside of it (Vulkan 1.4, "Image
        Coordinate Validation").
        """
        known = (level >= 0) & (level < self.levels)
        chosen = np.where(known, level, 0).astype(np.int64)
        extent = self.extents[chosen]
        inside = known & (layer >= 0) & (layer < self.layers) & (sample >= 0) & (sample < self.samples)
        index = np.asarray(layer, np.int64)
        for axis in reversed(range(3)):
            size = extent[..., axis]
            index = index * size
            if axis < position.shape[0]:
                coordinate = position[axis]
                inside = inside & (coordinate >= 0) & (coordinate < size)
                index = index + coordinate
        offset = self.starts[chosen] + (index * self.samples + sample) * self.format.nbytes
        return np.where(inside, offset, self.nbytes).astype(np.int64)


def image_of(
    arrays: Sequence[npt.NDArray[Any]],
    name: str,
    format: Format,
    *,
    dimension: str = "2D",
    arrayed: bool = False,
) -> ImageMemory:
    """Return an image made of the arrays of its levels, as `vkgroup.Device.image` takes them.

    The shape of each is ([layers,] [[depth,] height,] width[, components]); a cube has a first axis of its
    faces, or of all faces of all its cubes.
    """
    layered = int(arrayed or dimension == "Cube")
    axes = AXES[dimension]
    extent = (*reversed(arrays[0].shape[layered : layered + axes]), 1, 1)[:3]
    data = np.concatenate([np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays])
    return ImageMemory(
        data,
        name,
        format,
        dimension=dimension,
        extent=(int(extent[0]), int(extent[1]), int(extent[2])),
        arrayed=arrayed,
        layers=arrays[0].shape[0] if layered else 1,
        levels=len(arrays),
    )


def load_texels(
    frame: Frame, site: Site, image: ImageMemory, offset: Offsets, extend: str | None = None
) -> tuple[Data, Causes | None]:
    """Read texels, given by the first byte of each, as red, green, blue and alpha with causes: (4, n).

    `extend` is ``"int"`` or ``"uint"`` where integers are read as such in any format.
    """
    elements, cause = image.load(frame, site, _element_offsets(image, offset), image.format.dtype)
    data = decode(image.format, elements)
    if extend is not None and data.dtype.kind != extend[0]:
        bits = elements.view(f"{extend[0]}{elements.dtype.itemsize}")
        data[: elements.shape[0]] = bits.astype(f"{extend[0]}{data.dtype.itemsize}").view(data.dtype)
    if cause is None or image.format.packed:
        return data, cause
    missing = np.zeros((4 - cause.shape[0], *cause.shape[1:]), np.uint16)
    return data, np.concatenate([cause, missing])


def store_texels(
    frame: Frame, site: Site, image: ImageMemory, offset: Offsets, values: Data, cause: Causes | None
) -> None:
    """Write rows of channels, (channels, n or 1), to texels, given by the first byte of each."""
    format = image.format
    if cause is not None:
        cause = np.broadcast_to(cause, np.broadcast_shapes(cause.shape, values.shape))
    lacking = format.channels - values.shape[0]
    if lacking > 0:
        number = site.cause("conversion", "the value written has fewer components than the image's format")
        present = np.zeros(values.shape, np.uint16) if cause is None else cause
        cause = np.concatenate([present, np.full((lacking, present.shape[1]), number, np.uint16)])
        values = np.concatenate([values, np.zeros((lacking, values.shape[1]), values.dtype)])
    elements, undefined = encode(format, values)
    if cause is not None:
        cause = cause[: format.channels]
        cause = cause.max(axis=0, keepdims=True) if format.packed else cause
    if undefined is not None:
        number = site.cause("conversion", "the value written cannot be represented in the image's format")
        cause = combine(cause, marked(undefined, number))
    image.store(frame, site, _element_offsets(image, offset), elements, cause)


def _element_offsets(image: ImageMemory, offset: Offsets) -> Offsets:
    format = image.format
    if format.components == 1:
        return offset[None]
    return offset + np.arange(format.components)[:, None] * format.dtype.itemsize


def texel_result(kind: Type | None, data: Data, cause: Causes | None) -> Value:
    """Return texels (4, n) in the shape and the number type of an instruction's result."""
    if isinstance(kind, VectorType):
        rows = data[: kind.count].astype(kind.component.dtype, copy=False)
        return single(rows, None if cause is None else np.broadcast_to(cause, data.shape)[: kind.count])
    assert isinstance(kind, ScalarType)
    return single(
        data[0].astype(kind.dtype, copy=False),
        None if cause is None else np.broadcast_to(cause, data.shape)[0],
    )


def rows(value: Value) -> tuple[Data, Causes | None]:
    """Return a scalar or vector as rows of components, (components, n), and one cause for all of them."""
    if value.data.ndim == 1:
        return value.data[None], value.cause
    return value.data, reduce_cause(value.cause)
