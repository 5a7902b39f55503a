"""Cubes: faces, directions, edges, corners, layers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from image_frames import number, sample

from vkgroup.base.formats import FORMATS
from vkgroup.base.sampler import Sampler
from vkgroup.reference.interpreter.operations.images import image_of


def on_cube(point: tuple[int, ...], sampler: Sampler, texels: np.ndarray) -> np.ndarray:
    image = image_of([texels], "cube", FORMATS["R32f"], dimension="Cube")
    return sample(image, sampler, np.array(point, np.float32)[:, None], number(0))[0]


def test_faces_of_cubes() -> None:
    faces = np.arange(6, dtype=np.float32).reshape(6, 1, 1)
    for axis, sign in itertools.product(range(3), (1, -1)):
        point = [0.3, -0.2, 0.1]
        point[axis] = sign * 0.5
        assert on_cube(tuple(point), Sampler(), faces).tolist() == [2 * axis + (sign < 0)]
    assert on_cube((1, 1, 1), Sampler(), faces).tolist() == [4], "z wins over y and x"
    assert on_cube((1, -1, 0), Sampler(), faces).tolist() == [3], "y wins over x"


def corners(size: int) -> np.ndarray:
    """Texels of a cube that hold where in space their centres lie, (6, size, size, 3)."""
    points = np.zeros((6, size, size, 3), np.float32)
    for y, x in itertools.product(range(size), repeat=2):
        s, t = (2 * x + 1) / size - 1, (2 * y + 1) / size - 1
        for face, point in enumerate(
            ((1, -t, -s), (-1, -t, s), (s, 1, t), (s, -1, -t), (s, -t, 1), (-s, -t, -1))
        ):
            points[face, y, x] = point
    return points


@pytest.mark.parametrize("filter", ["nearest", "linear"])
def test_texels_of_cubes_lie_where_their_directions_point(filter: str) -> None:
    points = corners(4)
    for axis in range(3):
        image = image_of([points[..., axis]], "cube", FORMATS["R32f"], dimension="Cube")
        directions = points.reshape(-1, 3).T
        result = sample(image, Sampler(filter), directions, number(0))
        assert np.allclose(result[0], directions[axis], atol=1e-6)


def test_linear_filtering_crosses_edges_and_corners() -> None:
    """Halfway over an edge both faces count alike; at a corner the three texels around it do."""
    points = corners(4)
    texels = np.random.default_rng(13).random((6, 4, 4), np.float32)
    near = np.array([1, 1, 0.25], np.float32)
    distance = np.abs(points - near).sum(-1)
    nearest = texels[distance <= np.sort(distance.reshape(-1))[1] + 1e-6]
    assert nearest.size == 2
    got = on_cube((1, 1, 0.25), Sampler("linear"), texels)
    assert got[0] == pytest.approx(nearest.mean(), abs=1e-6)
    for corner in itertools.product((1, -1), repeat=3):
        distance = np.abs(points - np.array(corner)).sum(-1)
        nearest = texels[distance <= distance.min() + 1e-6]
        assert nearest.size == 3
        got = on_cube(corner, Sampler("linear"), texels)
        assert got[0] == pytest.approx(nearest.mean(), abs=1e-6)


def test_layers_of_cube_arrays() -> None:
    texels = np.arange(12, dtype=np.float32).reshape(12, 1, 1)
    image = image_of([texels], "cubes", FORMATS["R32f"], dimension="Cube", arrayed=True)
    result = sample(image, Sampler(), np.array([[0, 0], [1, 0], [0, -1], [0, 1]], np.float32), number(0))
    assert result[0].tolist() == [2, 11]
