"""Images as memory: the offset of each texel, and the conversion of texels to numbers and back.

Vulkan 1.4, "Texel Decode" and "Texel Encode".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.formats import TexelFormat
from vkgroup.reference.interpreter.operations.accessor import Accessor
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

Flags = npt.NDArray[np.bool_]

#: The least exponent of every small float, and the mantissa of a half (Khronos Data Format, "11-bit floats").
_LEAST_EXPONENT, _HALF_MANTISSA = -14, 10


def decode(format: TexelFormat, elements: Data) -> Data:
    """Return red, green, blue and alpha of texels.

    `elements`: (components, n) of the format's dtype.

    Returns
    -------
    (4, n) float32, 32-bit integers, or 64-bit integers where the format has those. Missing channels are
    0, 0, 0 and 1 ("Component Substitution").
    """
    channels = _unpack(format, elements[0]) if format.packed else list(elements)
    values = [
        _to_number(format, channel, bits) for channel, bits in zip(channels, _bits(format), strict=True)
    ]
    shape, dtype = values[0].shape, values[0].dtype
    for missing in range(len(values), 4):
        values.append(np.full(shape, 1 if missing == 3 else 0, dtype))
    return np.stack(values)


def encode(format: TexelFormat, values: Data) -> tuple[Data, Flags | None]:
    """Return the elements that hold values, and which of them are undefined.

    `values`: at least as many rows as the format has channels, (4, n), of any number type.

    Returns
    -------
    elements, undefined : (components, n) of the format's dtype, and bool (components, n) or None. An
        integer that the format cannot hold is undefined, as is a NaN in a normalized format.
    """
    pairs = [_from_number(format, values[channel], bits) for channel, bits in enumerate(_bits(format))]
    undefined = [flags for _, flags in pairs if flags is not None]
    if format.packed:
        element = np.zeros(values.shape[1:], np.uint32)
        shift = 0
        for (channel, _), bits in zip(pairs, format.packed, strict=True):
            element |= channel.astype(np.uint32) << np.uint32(shift)
            shift += bits
        return element[None], np.logical_or.reduce(undefined)[None] if undefined else None
    elements = np.stack([channel for channel, _ in pairs])
    if not undefined:
        return elements, None
    nowhere = np.zeros(values.shape[1:], np.bool_)
    return elements, np.stack([nowhere if flags is None else flags for _, flags in pairs])


def _bits(format: TexelFormat) -> tuple[int, ...]:
    return format.packed or (format.dtype.itemsize * 8,) * format.components


def _unpack(format: TexelFormat, words: Data) -> list[Data]:
    channels, shift = [], 0
    for bits in format.packed:
        channels.append((words >> np.uint32(shift)) & np.uint32((1 << bits) - 1))
        shift += bits
    return channels


def _to_number(format: TexelFormat, channel: Data, bits: int) -> Data:
    numeric = format.numeric
    if numeric == "unorm":
        return channel.astype(np.float32) / np.float32((1 << bits) - 1)
    if numeric == "snorm":
        scaled = channel.astype(np.float32) / np.float32((1 << (bits - 1)) - 1)
        return np.asarray(np.maximum(scaled, np.float32(-1)))
    if numeric == "float":
        if format.packed:
            # A half has the same exponent below a sign and above ten bits of mantissa.
            halves = (channel << np.uint32(_HALF_MANTISSA + 5 - bits)).astype(np.uint16)
            return halves.view(np.float16).astype(np.float32)
        return channel.astype(np.float32)
    if bits == 64:
        return channel
    return channel.astype(np.uint32 if numeric == "uint" else np.int32)


def _from_number(format: TexelFormat, values: Data, bits: int) -> tuple[Data, Flags | None]:
    numeric = format.numeric
    if numeric in ("unorm", "snorm"):
        return _to_fixed(values, bits, numeric == "snorm", None if format.packed else format.dtype)
    if numeric == "float":
        if format.packed:
            return _to_small_float(values, bits - 5), None
        with np.errstate(over="ignore"):
            return values.astype(format.dtype), None
    least, most = (0, (1 << bits) - 1) if numeric == "uint" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return values.astype(format.dtype), _out_of_range(values, least, most)


def _out_of_range(values: Data, least: int, most: int) -> Flags | None:
    limits = np.iinfo(values.dtype)
    outside = np.zeros(values.shape, np.bool_)
    if limits.min < least:
        outside |= values < least
    if limits.max > most:
        outside |= values > most
    return outside if outside.any() else None


def _to_fixed(
    values: Data, bits: int, signed: bool, dtype: np.dtype[Any] | None
) -> tuple[Data, Flags | None]:
    """Round to the nearest ("Conversion From Floating-Point to Normalized Fixed-Point")."""
    most = (1 << (bits - signed)) - 1
    nan = np.isnan(values)
    clamped = np.clip(np.where(nan, 0, values.astype(np.float64)), -1.0 if signed else 0.0, 1.0)
    result = np.rint(clamped * most).astype(np.int64)
    return result.astype(dtype or np.dtype(np.uint32)), nan if nan.any() else None


def _to_small_float(values: Data, mantissa: int) -> Data:
    """Round to an unsigned float with five bits of exponent; negative numbers become zero."""
    with np.errstate(invalid="ignore"):
        given = values.astype(np.float64)
    positive = np.where(given > 0, given, 0.0)
    finite = np.where(np.isinf(positive), 0.0, positive)
    exponent = np.maximum(np.frexp(finite)[1] - 1, _LEAST_EXPONENT)
    step = np.ldexp(1.0, exponent - mantissa)
    most = (2 - 2.0**-mantissa) * 2.0**15
    rounded = np.minimum(np.rint(finite / step) * step, most)
    halves = np.where(np.isinf(positive), np.inf, rounded).astype(np.float16)
    bits = halves.view(np.uint16) >> np.uint16(_HALF_MANTISSA - mantissa)
    not_a_number = np.uint16((1 << (mantissa + 5)) - 1)
    return np.where(np.isnan(given), not_a_number, bits).astype(np.uint32)


#: The most levels of an image whose extents are 16-bit numbers.
_MOST_LEVELS = 16

#: Axes of a level by SPIR-V's dimension, without layers.
AXES = {"1D": 1, "2D": 2, "3D": 3, "Cube": 2, "Rect": 2, "Buffer": 1}


class ImageMemory(Memory):
    """The texels of an image or a texel buffer in one array of bytes.

    They are in the order of level, layer (of a cube: face), depth, height and width.

    `data`: uint8; used as it is. It may be longer than the texels.
    `name`: for messages.
    `format`: of the texels.
    `dimension`: SPIR-V's name: ``"1D"``, ``"2D"``, ``"3D"``, ``"Cube"`` or ``"Buffer"``.
    `extent`: width, height and depth of level 0 in texels.
    `arrayed`: whether it has layers.
    `layers`: number of layers; six for each cube.
    `levels`: number of levels, each of half the size of the one before.
    `samples`: samples of each texel.
    `defined`: whether the texels have a meaning before the first write.
    """

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        name: str,
        format: TexelFormat,
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
        #: Layers, width, height and depth that accesses outside of the image need; 0 if there are none.
        self.needed = np.zeros(4, np.int64)
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
            raise ValueError(f"{name}: {data.size} bytes are too few, its texels need {self.starts[-1]}")

    @property
    def axes(self) -> int:
        """Axes of a level, without layers."""
        return AXES[self.dimension]

    @property
    def cubes(self) -> int:
        """Layers in the unit of sampling instructions: cubes, not faces."""
        return self.layers // 6 if self.dimension == "Cube" else self.layers

    def texels(self, level: int = 0) -> npt.NDArray[Any]:
        """Return a view of a level as an array (layers, depth, height, width, components)."""
        width, height, depth = self.extents[level]
        data = self.data[self.starts[level] : self.starts[level + 1]].view(self.format.dtype)
        return data.reshape(self.layers, depth, height, width * self.samples, self.format.components)

    def offsets(self, position: Data, layer: Data, level: Data, sample: Data | int = 0) -> Offsets:
        """Return the offsets of texels by their coordinates.

        `position`: integer x, y and z on the axes that the image has, (axes, n).
        `layer`, `level`, `sample`: (n,) or (1,).

        Returns the first byte of each, (n,); the end of the image for coordinates outside of it (Vulkan 1.4,
        "Image Coordinate Validation").
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

    def locate(
        self, frame: Frame, site: Site, position: Data, layer: Data, level: Data, sample: Data | int = 0
    ) -> Offsets:
        """Return the offsets of texels, as `offsets` does, and report those outside of the image.

        What helper invocations read outside of the image is undefined, and no error unless it is used.
        """
        offset = self.offsets(position, layer, level, sample)
        outside = offset >= self.nbytes
        if frame.helpers is not None:
            outside = outside & ~frame.helpers
        if outside.any():
            given = np.stack(np.broadcast_arrays(layer, level, sample, *position, outside)[:-1])
            given = given.astype(np.int64)[:, outside]
            self._need(given)
            example = [int(number) for number in given[:, 0]]
            place = np.broadcast_to(offset, (frame.count,))
            frame.report("bounds", site, outside, self._outside_of(*example), memory=self.name, offset=place)
        return offset

    def report_outside(self, frame: Accessor, site: Site, outside: Flags, offset: Offsets) -> None:
        """Do nothing: `locate` has reported it."""

    def _need(self, given: Data) -> None:
        """Record the layers and the extent that accesses need; `given` has a row for each coordinate."""
        given = given[:, (given >= 0).all(axis=0) & (given[1] < _MOST_LEVELS) & (given[2] < self.samples)]
        if given.size:
            layer, level, _, *position = given
            ends = [layer + 1, *((coordinate + 1) << level for coordinate in position)]
            for axis, end in enumerate(ends):
                self.needed[axis] = max(self.needed[axis], end.max())

    def _outside_of(self, layer: int, level: int, sample: int, *position: int) -> str:
        """Return the message on a texel outside of the image."""
        layered = "face" if self.dimension == "Cube" else "layer"
        parts = [f"sample {sample} of "] if self.samples > 1 or sample else []
        parts += [f"{layered} {layer} of "] if self.arrayed or self.layers > 1 or layer else []
        parts += [f"level {level} of "] if level else []
        extent = "×".join(map(str, self.extents[level if 0 <= level < self.levels else 0, : self.axes]))
        counts = [f"{self.layers} {layered}s"] if self.layers > 1 or layer else []
        counts += [f"{self.levels} levels"] if not 0 <= level < self.levels else []
        texel = f"({', '.join(map(str, position))})" if len(position) > 1 else str(position[0])
        has = f"{extent} with {' and '.join(counts)}" if counts else extent
        return f"texel {texel} of {''.join(parts)}{self.label} is outside its extent {has}"


def image_of(
    arrays: Sequence[npt.NDArray[Any]],
    name: str,
    format: TexelFormat,
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

    `extend`: ``"int"`` or ``"uint"`` to read integers as signed or unsigned in any format; else None.
    """
    elements, cause = image.load(frame, site, _element_offsets(image, offset), image.format.dtype)
    if cause is not None and frame.helpers is not None:
        number = site.cause("helper", "a helper invocation reads a texel outside of the image")
        cause = np.where(frame.helpers & (offset >= image.nbytes), np.uint16(number), cause)
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
    if cause is not None:
        # The texel may be the same in all invocations, and the cause not.
        cause = np.broadcast_to(cause, np.broadcast_shapes(cause.shape, data.shape))
    if isinstance(kind, VectorType):
        rows = data[: kind.count].astype(kind.component.dtype, copy=False)
        return single(rows, None if cause is None else cause[: kind.count])
    assert isinstance(kind, ScalarType)
    return single(data[0].astype(kind.dtype, copy=False), None if cause is None else cause[0])


def rows(value: Value) -> tuple[Data, Causes | None]:
    """Return a scalar or vector as rows of components, (components, n), and one cause for all of them."""
    if value.data.ndim == 1:
        return value.data[None], value.cause
    return value.data, reduce_cause(value.cause)
