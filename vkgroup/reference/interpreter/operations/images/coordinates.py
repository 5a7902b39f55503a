"""From the coordinates that a shader gives to texels: Vulkan 1.4, "Sampling Operations"."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values.value import Data

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

_FAR = 2.0**40


def to_integers(coordinate: Data) -> Integers:
    """Round down; what is no number, or too far out for any image, becomes some place that is far out."""
    near: Data = np.clip(np.nan_to_num(coordinate, nan=0.0), -_FAR, _FAR)
    return np.floor(near).astype(np.int64)


def wrap(place: Integers, size: Integers, mode: str) -> Integers:
    """Bring coordinates back into an image ("Wrapping Operation").

    Parameters
    ----------
    place, size : of one axis, in texels.
    mode : of the sampler. Clamping to the border gives -1 or `size` for what lies outside.
    """
    if mode == "repeat":
        return place % size
    if mode == "mirrored_repeat":
        return (size - 1) - _mirror(place % (2 * size) - size)
    if mode == "mirror_clamp_to_edge":
        return np.clip(_mirror(place), 0, size - 1)
    if mode == "clamp_to_border":
        return np.clip(place, -1, size)
    return np.clip(place, 0, size - 1)


def _mirror(place: Integers) -> Integers:
    return np.where(place >= 0, place, -(1 + place))


# --- cubes --------------------------------------------------------------------------------------------

#: For each face, in the order of layers: the axis it lies on, and the axes and signs of s and t on it.
_FACES = (
    (0, 1, (2, -1), (1, -1)),
    (0, -1, (2, 1), (1, -1)),
    (1, 1, (0, 1), (2, 1)),
    (1, -1, (0, 1), (2, -1)),
    (2, 1, (0, 1), (1, -1)),
    (2, -1, (0, -1), (1, -1)),
)


class OnFace(NamedTuple):
    """Where directions meet a cube: the face, s and t from 0 to 1, and their derivatives where asked for.

    Attributes
    ----------
    face : (n,), the layer within the cube.
    place : (2, n).
    gradient : two arrays (2, n), or None.
    """

    face: Integers
    place: Data
    gradient: tuple[Data, Data] | None


def to_face(direction: Data, gradient: tuple[Data, Data] | None = None) -> OnFace:
    """Choose the face that each direction meets ("Cube Map Face Selection").

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
        place = np.stack([(part / length + 1) / 2 for part in parts[:2]]).astype(direction.dtype)
        if gradient is None:
            return OnFace(face, place, None)
        derived = [_derive(parts, length, face, change) for change in gradient]
    return OnFace(face, place, (derived[0], derived[1]))


def _on_face(vector: Data, face: Integers, part: int) -> Data:
    """Return s (0), t (1) or the major component (2) of vectors on their faces, signed as on the face."""
    vector = np.broadcast_to(vector, (3, *face.shape))
    axes, signs = [], []
    for axis, sign, s, t in _FACES:
        chosen = (s, t, (axis, sign))[part]
        axes.append(chosen[0])
        signs.append(chosen[1])
    found = np.take_along_axis(vector, np.array(axes)[face][None], 0)[0]
    return np.asarray(found * np.array(signs, vector.dtype)[face])


def _derive(parts: list[Data], length: Data, face: Integers, change: Data) -> Data:
    """Return the derivatives of s and t on the face ("Cube Map Derivative Transformation")."""
    major = _on_face(change, face, 2)
    return np.stack(
        [
            (length * _on_face(change, face, part) - parts[part] * major) / (2 * length * length)
            for part in range(2)
        ]
    )


def across_edges(place: Integers, face: Integers, size: Integers) -> tuple[Integers, Integers, Flags]:
    """Find the texels behind the edges of faces ("Cube Map Edge Handling").

    Parameters
    ----------
    place : x and y, (2, n), at most one texel outside of the face.
    face, size : (n,).

    Returns
    -------
    place, face, corner : where the texel lies; and whether it lies behind a corner, where there is none:
        `place` is then that of the face's corner.
    """
    outside = (place < 0) | (place >= size)
    corner = outside[0] & outside[1]
    inner = np.clip(place, 0, size - 1)
    if not outside.any():
        return inner, face, corner
    # The plane of a face, continued behind its edge, meets the neighbouring face within the texel wanted.
    plane = (2 * place + 1 - size) / size
    direction = np.zeros((3, *face.shape))
    for number, (axis, sign, s, t) in enumerate(_FACES):
        here = face == number
        for along, value in (((axis, sign), np.ones(face.shape)), (s, plane[0]), (t, plane[1])):
            direction[along[0]] = np.where(here, along[1] * value, direction[along[0]])
    there = to_face(direction)
    moved = np.clip(to_integers(there.place * size), 0, size - 1)
    over = (outside[0] | outside[1]) & ~corner
    return np.where(over, moved, inner), np.where(over, there.face, face), corner


# --- levels -------------------------------------------------------------------------------------------


def scale_factor(gradient: tuple[Data, Data], extent: Integers) -> Data:
    """Return the level of detail that derivatives ask for, (n,): log2 of the larger scale factor.

    Parameters
    ----------
    gradient : two arrays (axes, n), of normalized coordinates.
    extent : of level 0, (axes,).
    """
    sizes = extent[:, None]
    lengths = [np.sqrt(((change.astype(np.float64) * sizes) ** 2).sum(axis=0)) for change in gradient]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(np.maximum(*lengths)))
