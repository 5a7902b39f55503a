"""Filters: the texels of a level around coordinates, combined.

Vulkan 1.4, "Sampling Operations", "Texel Filtering" and "Texel Gathering".
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.base.formats import TexelFormat
from vkgroup.base.sampler import Sampler
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory, load_texels
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, combine, marked

_FAR = 2.0**40
_REPETITIONS = ("repeat", "mirrored_repeat")


def to_integers(coordinate: Data) -> Integers:
    """Return coordinates rounded down; NaN becomes 0, and coordinates far outside are clamped."""
    near: Data = np.clip(np.nan_to_num(coordinate, nan=0.0), -_FAR, _FAR)
    return np.floor(near).astype(np.int64)


def wrap(coordinate: Integers, size: Integers, mode: str) -> Integers:
    """Return texel coordinates inside of an image by an address mode ("Wrapping Operation").

    Clamping to the border gives -1 or `size` for coordinates outside.
    """
    if mode == "repeat":
        return coordinate % size
    if mode == "mirrored_repeat":
        return (size - 1) - _mirror(coordinate % (2 * size) - size)
    if mode == "mirror_clamp_to_edge":
        return np.clip(_mirror(coordinate), 0, size - 1)
    if mode == "clamp_to_border":
        return np.clip(coordinate, -1, size)
    return np.clip(coordinate, 0, size - 1)


def _mirror(coordinate: Integers) -> Integers:
    return np.where(coordinate >= 0, coordinate, -(1 + coordinate))


# --- cubes --------------------------------------------------------------------------------------------

#: For each face, in the order of layers: its axis and sign, and the axes and signs of s and t on it.
_FACES = (
    (0, 1, (2, -1), (1, -1)),
    (0, -1, (2, 1), (1, -1)),
    (1, 1, (0, 1), (2, 1)),
    (1, -1, (0, 1), (2, -1)),
    (2, 1, (0, 1), (1, -1)),
    (2, -1, (0, -1), (1, -1)),
)


class OnFace(NamedTuple):
    """Points of a cube: the face, s and t from 0 to 1, and their derivatives if requested."""

    face: Integers  # (n,), the layer within the cube
    point: Data  # s and t, (2, n)
    gradient: tuple[Data, Data] | None  # two arrays (2, n), or None


def to_face(direction: Data, gradient: tuple[Data, Data] | None = None) -> OnFace:
    """Return the points of a cube in some directions, (3, n) ("Cube Map Face Selection").

    Where components tie, z wins over y and x, and y over x. `gradient` holds derivatives in two screen
    directions, each (3, n).
    """
    size = np.abs(direction)
    major = np.where((size[2] >= size[0]) & (size[2] >= size[1]), 2, np.where(size[1] >= size[0], 1, 0))
    negative = np.take_along_axis(direction, major[None], 0)[0] < 0
    face = major * 2 + negative
    parts = [_on_face(direction, face, part) for part in range(3)]
    length = np.abs(parts[2])
    with np.errstate(divide="ignore", invalid="ignore"):
        point = np.stack([(part / length + 1) / 2 for part in parts[:2]]).astype(direction.dtype)
        if gradient is None:
            return OnFace(face, point, None)
        derived = [_derive(parts, length, face, change) for change in gradient]
    return OnFace(face, point, (derived[0], derived[1]))


def _on_face(vector: Data, face: Integers, part: int) -> Data:
    """Return s (0), t (1) or the major component (2) of vectors, with the signs of their faces."""
    vector = np.broadcast_to(vector, (3, *face.shape))
    axes, signs = [], []
    for axis, sign, s, t in _FACES:
        chosen = (s, t, (axis, sign))[part]
        axes.append(chosen[0])
        signs.append(chosen[1])
    components = np.take_along_axis(vector, np.array(axes)[face][None], 0)[0]
    return np.asarray(components * np.array(signs, vector.dtype)[face])


def _derive(parts: list[Data], length: Data, face: Integers, change: Data) -> Data:
    """Return the derivatives of s and t on the face ("Cube Map Derivative Transformation")."""
    major = _on_face(change, face, 2)
    return np.stack(
        [
            (length * _on_face(change, face, part) - parts[part] * major) / (2 * length * length)
            for part in range(2)
        ]
    )


def across_edges(texel: Integers, face: Integers, size: Integers) -> tuple[Integers, Integers, Flags]:
    """Return the texels beyond the edges of faces ("Cube Map Edge Handling"); `texel` is x and y, (2, n).

    The results are texel, face, and whether the texel lies beyond a corner, where no texel exists: `texel` is
    then the corner texel of the face. Texels are at most one texel outside of the face.
    """
    outside = (texel < 0) | (texel >= size)
    corner = outside[0] & outside[1]
    inner = np.clip(texel, 0, size - 1)
    if not outside.any():
        return inner, face, corner
    # The plane of a face, continued beyond its edge, meets the neighbouring face within that texel.
    plane = (2 * texel + 1 - size) / size
    direction = np.zeros((3, *face.shape))
    for number, (axis, sign, s, t) in enumerate(_FACES):
        on_face = face == number
        for along, value in (((axis, sign), np.ones(face.shape)), (s, plane[0]), (t, plane[1])):
            direction[along[0]] = np.where(on_face, along[1] * value, direction[along[0]])
    neighbour = to_face(direction)
    moved = np.clip(to_integers(neighbour.point * size), 0, size - 1)
    over = (outside[0] | outside[1]) & ~corner
    return np.where(over, moved, inner), np.where(over, neighbour.face, face), corner


# --- levels -------------------------------------------------------------------------------------------


def scale_factor(gradient: tuple[Data, Data], extent: Integers) -> Data:
    """Return the level of detail of a gradient, (n,): log2 of the larger scale factor.

    `gradient` is two arrays (axes, n) of normalized coordinates, `extent` the size of level 0, (axes,).
    """
    sizes = extent[:, None]
    lengths = [np.sqrt(((change.astype(np.float64) * sizes) ** 2).sum(axis=0)) for change in gradient]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(np.maximum(*lengths)))


Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Texels = tuple[Data, Causes | None]

_COMPARE: dict[str, Any] = {
    "never": lambda reference, texel: np.zeros(np.broadcast_shapes(reference.shape, texel.shape), np.bool_),
    "less": np.less,
    "equal": np.equal,
    "less_or_equal": np.less_equal,
    "greater": np.greater,
    "not_equal": np.not_equal,
    "greater_or_equal": np.greater_equal,
    "always": lambda reference, texel: np.ones(np.broadcast_shapes(reference.shape, texel.shape), np.bool_),
}


@dataclass(frozen=True)
class Lookup:
    """Operands of one instruction that are the same for all texels that it reads."""

    frame: Frame
    site: Site
    #: `image`, `sampler`: the image, and the sampler state.
    image: ImageMemory
    sampler: Sampler
    layer: Integers  # layer of each invocation, (n,) or (1,); of a cube the layer of its first face
    face: Integers | None = None  # face of a cube, (n,); else None
    reference: Data | None = None  # reference of a depth comparison, (n,); None without one

    def unnormalized(self, point: Data, level: Integers, offset: Data | int = 0) -> Data:
        """Return coordinates in texels of a level, (axes, n), rounded as a float is."""
        if self.sampler.unnormalized:
            return point + offset
        size = self.image.extents[level, : self.image.axes].T
        return np.asarray(point * size.astype(point.dtype) + offset).astype(point.dtype)

    def _far_in_repetitions(self, position: Data) -> Causes | None:
        """Return the cause where a repeated image is sampled so far away that the texel is arbitrary.

        The distance between two floats there is at least one texel, so that the texel depends on rounding,
        which Vulkan does not define for coordinates; None if there is no such place.
        """
        end = 2.0 ** np.finfo(position.dtype).nmant
        far = np.zeros(1, np.bool_)
        if self.face is None:
            for axis, mode in zip(range(self.image.axes), self.sampler.addresses, strict=False):
                if mode in _REPETITIONS:
                    far = far | ~(np.abs(position[axis]) < end)
        if not far.any():
            return None
        reason = "the coordinate is not finite, or so large that floats skip texels"
        return marked(far, self.site.cause("conversion", reason))

    # --- single texels --------------------------------------------------------------------------------

    def texel(self, position: Integers, level: Integers, *, linear: bool) -> Texels:
        """Read the texel at integer coordinates (axes, n), moved by the address mode: (4, n)."""
        size = self.image.extents[level, : self.image.axes].T
        if self.face is not None:
            return self._cube_texel(position, level, size[0], linear=linear)
        outside = np.zeros(1, np.bool_)
        inside = []
        for axis, mode in zip(range(self.image.axes), self.sampler.addresses, strict=False):
            wrapped = wrap(position[axis], size[axis], mode)
            if mode == "clamp_to_border":
                outside = outside | (wrapped < 0) | (wrapped >= size[axis])
                wrapped = np.clip(wrapped, 0, size[axis] - 1)
            inside.append(wrapped)
        data, cause = self._read(np.stack(np.broadcast_arrays(*inside)), self.layer, level)
        if outside.any():
            border, mismatch = _border(self.image.format, self.sampler.border_color, data.dtype)
            data = np.where(outside, border[:, None], data)
            number = self.site.cause("conversion", "the border's colour is of another kind than the image")
            if cause is not None or mismatch:
                cause = np.where(outside, number if mismatch else 0, 0 if cause is None else cause)
                cause = cause.astype(np.uint16)
        return self._compared(data), cause

    def _read(self, position: Integers, layer: Integers, level: Integers) -> Texels:
        offset = self.image.locate(self.frame, self.site, position, layer, level)
        return load_texels(self.frame, self.site, self.image, offset)

    def _cube_texel(self, position: Integers, level: Integers, size: Integers, *, linear: bool) -> Texels:
        face = self.face
        assert face is not None
        if not linear:
            data, cause = self._read(np.clip(position, 0, size - 1), self.layer + face, level)
            return self._compared(data), cause
        inner, actual_face, corner = across_edges(position, face, size)
        data, cause = self._read(inner, self.layer + actual_face, level)
        data = self._compared(data)
        if corner.any():
            around = self._around_corner(position, inner, face, level, size)
            data = np.where(corner, np.mean([data, *(texel for texel, _ in around)], axis=0), data)
            cause = combine(cause, *(other for _, other in around))
        return data.astype(np.float32), cause

    def _around_corner(
        self, position: Integers, inner: Integers, face: Integers, level: Integers, size: Integers
    ) -> list[Texels]:
        """Read the two texels on the other two faces at a corner of the cube."""
        result = []
        for axis in range(2):
            moved = inner.copy()
            moved[axis] = position[axis]
            beside, other, _ = across_edges(moved, face, size)
            data, cause = self._read(beside, self.layer + other, level)
            result.append((self._compared(data), cause))
        return result

    def _compared(self, data: Data) -> Data:
        """Replace depths by 1 where the comparison with the reference holds, by 0 elsewhere."""
        if self.reference is None or self.sampler.compare is None:
            return data
        reference = self.reference
        if self.image.format.numeric == "unorm":
            reference = np.clip(reference, 0, 1)
        passed = _COMPARE[self.sampler.compare](reference, data[0]).astype(np.float32)
        fill = np.zeros_like(passed)
        return np.stack([passed, fill, fill, fill + 1])

    # --- filters --------------------------------------------------------------------------------------

    def filtered(self, point: Data, level: Integers, filter: str, offset: Data | int = 0) -> Texels:
        """Combine the texels around coordinates (axes, n) in one level of each invocation: (4, n)."""
        position = self.unnormalized(point, level, offset)
        far = self._far_in_repetitions(position)
        if filter == "nearest" or self.image.format.kind != "float":
            data, cause = self.texel(to_integers(position), level, linear=False)
            return data, combine(cause, far)
        first, fraction = _split(position)
        total: Data = np.zeros(1)
        causes = [far]
        for corner in itertools.product((0, 1), repeat=self.image.axes):
            step = np.array(corner)[:, None]
            weight = np.where(step, fraction, 1 - fraction).prod(axis=0)
            data, cause = self.texel(first + step, level, linear=True)
            with np.errstate(invalid="ignore"):
                total = total + weight * data.astype(np.float64)
            causes.append(cause)
        with np.errstate(over="ignore"):
            return total.astype(np.float32), combine(*causes)

    def four(self, point: Data, offset: Data | int, offsets: Data | None) -> list[Texels]:
        """Return the four texels of a gather at coordinates (2, n), in the order of its result's components.

        `offsets`, (4, 2, n), replaces the four texels of linear filtering.
        """
        level = np.zeros(1, np.int64)
        position = self.unnormalized(point, level, offset)
        far = self._far_in_repetitions(position)
        first, _ = _split(position)
        steps = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])[:, :, None] if offsets is None else offsets
        texels = [self.texel(first + step, level, linear=True) for step in steps]
        return [(data, combine(cause, far)) for data, cause in texels]


def _split(position: Data) -> tuple[Integers, Data]:
    """Split coordinates into the first of two texels and the weight of the second."""
    shifted = position - position.dtype.type(0.5)
    first = to_integers(shifted)
    with np.errstate(invalid="ignore"):
        return first, shifted.astype(np.float64) - np.floor(shifted.astype(np.float64))


def _border(format: TexelFormat, color: str, dtype: np.dtype[Any]) -> tuple[Data, bool]:
    """Return red, green, blue and alpha of a border color, and whether the format cannot hold it."""
    kind, _, name = color.partition("_")
    rgb, alpha = {"transparent_black": (0, 0), "opaque_black": (0, 1), "opaque_white": (1, 1)}[name]
    values = [rgb, rgb, rgb, alpha]
    values[format.channels :] = [0, 0, 0, 1][format.channels :]
    return np.array(values, dtype), (kind == "float") != (format.kind == "float")
