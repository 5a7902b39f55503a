"""Image coordinates to texels: Vulkan 1.4, "Sampling Operations"."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values.value import Data

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

_FAR = 2.0**40


def to_integers(coordinate: Data) -> Integers:
    """Return coordinates rounded down; NaN becomes 0, and coordinates far outside are clamped."""
    near: Data = np.clip(np.nan_to_num(coordinate, nan=0.0), -_FAR, _FAR)
    return np.floor(near).astype(np.int64)


def wrap(coordinate: Integers, size: Integers, mode: str) -> Integers:
    """Return coordinates inside of an image by an address mode ("Wrapping Operation").

    Parameters
    ----------
    coordinate, size : of one axis, in texels.
    mode : of the sampler. Clamping to the border gives -1 or `size` for coordinates outside.
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
    """Points of a cube: the face, s and t from 0 to 1, and their derivatives if requested.

    Attributes
    ----------
    face : (n,), the layer within the cube.
    point : s and t, (2, n).
    gradient : two arrays (2, n), or None.
    """

    face: Integers
    point: Data
    gradient: tuple[Data, Data] | None


def to_face(direction: Data, gradient: tuple[Data, Data] | None = None) -> OnFace:
    """Return the points of a cube in some directions ("Cube Map Face Selection").

    Parameters
    ----------
    direction : (3, n). Where components tie, z wins over y and x, and y over x.
    gradient : derivatives in two screen directions, each (3, n).
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
    """Return s (0), t (1) or the major component (2) of vectors on their faces, signed as on the face."""
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
    """Return the texels beyond the edges of faces ("Cube Map Edge Handling").

    Parameters
    ----------
    texel : x and y, (2, n), at most one texel outside of the face.
    face, size : (n,).

    Returns
    -------
    texel, face, corner : the texel on the cube; and whether it lies beyond a corner, where no texel exists:
        `texel` is then that in the face's corner.
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
    """Return the level of detail of derivatives, (n,): log2 of the larger scale factor.

    Parameters
    ----------
    gradient : two arrays (axes, n), of normalized coordinates.
    extent : of level 0, (axes,).
    """
    sizes = extent[:, None]
    lengths = [np.sqrt(((change.astype(np.float64) * sizes) ** 2).sum(axis=0)) for change in gradient]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(np.maximum(*lengths)))
