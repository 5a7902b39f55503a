"""Texels of a level combined by a filter: Vulkan 1.4, "Texel Filtering" and "Texel Gathering"."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.formats import Format
from vkgroup.reference.interpreter.operations.images.coordinates import across_edges, to_integers, wrap
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.operations.images.texels import load_texels
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, combine
from vkgroup.sampler import Sampler

Integers = npt.NDArray[np.int64]
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
    """The invariants of one instruction while it looks up texels.

    Attributes
    ----------
    image, sampler : the image, and the sampler state.
    layer : layer of each invocation, (n,) or (1,); of a cube the layer of its first face.
    face : face of a cube, (n,); else None.
    reference : reference of a depth comparison, (n,); None without one.
    """

    frame: Frame
    site: Site
    image: ImageMemory
    sampler: Sampler
    layer: Integers
    face: Integers | None = None
    reference: Data | None = None

    def unnormalized(self, point: Data, level: Integers, offset: Data | int = 0) -> Data:
        """Return coordinates in texels of a level, (axes, n), rounded as a float is."""
        if self.sampler.unnormalized:
            return point + offset
        size = self.image.extents[level, : self.image.axes].T
        return np.asarray(point * size.astype(point.dtype) + offset).astype(point.dtype)

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
        zero = np.zeros(1, np.int64)
        offset = self.image.offsets(position, layer, level, zero)
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
        """Read the two texels beside a corner that lie on the other faces that meet there."""
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
        if filter == "nearest" or self.image.format.kind != "float":
            return self.texel(to_integers(position), level, linear=False)
        first, fraction = _split(position)
        total: Data = np.zeros(1)
        causes: list[Causes | None] = []
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
        """Return the four texels of a gather, in the order of its result's components.

        Parameters
        ----------
        point : coordinates, (2, n).
        offset : added to all, in texels.
        offsets : offset of each of the four from the first, (4, 2, n); None for those of linear filtering.
        """
        level = np.zeros(1, np.int64)
        first, _ = _split(self.unnormalized(point, level, offset))
        steps = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])[:, :, None] if offsets is None else offsets
        return [self.texel(first + step, level, linear=True) for step in steps]


def _split(position: Data) -> tuple[Integers, Data]:
    """Split coordinates into the first of two texels and the weight of the second."""
    shifted = position - position.dtype.type(0.5)
    first = to_integers(shifted)
    with np.errstate(invalid="ignore"):
        return first, shifted.astype(np.float64) - np.floor(shifted.astype(np.float64))


def _border(format: Format, color: str, dtype: np.dtype[Any]) -> tuple[Data, bool]:
    """Return red, green, blue and alpha of a border, and whether it does not fit the format."""
    kind, _, name = color.partition("_")
    rgb, alpha = {"transparent_black": (0, 0), "opaque_black": (0, 1), "opaque_white": (1, 1)}[name]
    values = [rgb, rgb, rgb, alpha]
    values[format.channels :] = [0, 0, 0, 1][format.channels :]
    return np.array(values, dtype), (kind == "float") != (format.kind == "float")
