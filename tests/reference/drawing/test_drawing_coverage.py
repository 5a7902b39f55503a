"""Coverage of primitives: exact, and each sample on a common edge belongs to one of two primitives."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from drawn import in_pixels, reference, triangles

from vkgroup.base.errors import Unsupported
from vkgroup.dispatch import DrawState
from vkgroup.reference.drawing.coverage import COUNTS, covered_quads, sample_locations
from vkgroup.reference.drawing.shapes import assemble

COUNT = """#version 450
layout(location = 0) out uint drawn;
layout(binding = 0) buffer Times { uint times[]; };
layout(push_constant) uniform Push { uint width; };
void main() {
    uvec2 at = uvec2(gl_FragCoord.xy);
    drawn = 1u + uint(gl_PrimitiveID);
    atomicAdd(times[at.y * width + at.x], 1u);
}"""


def masks(polygon: np.ndarray, size: tuple[int, int], samples: int) -> np.ndarray:
    """The covered samples of each pixel, from the quads."""
    result = np.zeros((size[1] + 1, size[0] + 1), np.uint32)
    for quads in covered_quads(polygon, size, sample_locations(samples)):
        assert not (quads.x % 2).any()
        assert not (quads.y % 2).any()
        for lane, (right, down) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
            result[quads.y + down, quads.x + right] = quads.masks[:, lane]
    assert not result[size[1]].any()
    assert not result[:, size[0]].any()
    return result[: size[1], : size[0]]


def inside(polygon: np.ndarray, x: Fraction, y: Fraction) -> bool | None:
    """Return whether a point is strictly inside a convex polygon; None on its edge."""
    sides = []
    corners = [*polygon.tolist(), polygon[0].tolist()]
    for (ax, ay), (bx, by) in pairwise(corners):
        sides.append((bx - ax) * (y - ay) - (by - ay) * (x - ax))
    if all(side > 0 for side in sides) or all(side < 0 for side in sides):
        return True
    return None if all(side >= 0 for side in sides) or all(side <= 0 for side in sides) else False


@pytest.mark.parametrize("samples", COUNTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_sample_is_covered_where_it_lies_inside(samples: int, seed: int) -> None:
    size = (7, 6)
    polygon = np.random.default_rng(seed).integers(-300, 2200, (3, 2))
    result = masks(polygon, size, samples)
    for y in range(size[1]):
        for x in range(size[0]):
            for bit, (dx, dy) in enumerate(sample_locations(samples)):
                place = inside(polygon, (x + Fraction(dx)) * 256, (y + Fraction(dy)) * 256)
                if place is not None:
                    assert bool(result[y, x] >> bit & 1) == place


@pytest.mark.parametrize("samples", COUNTS)
def test_of_neighbours_exactly_one_covers_a_sample(samples: int) -> None:
    """A fan around a point, with corners and edges that run through samples."""
    size = (16, 16)
    rng = np.random.default_rng(1)
    around = [(0, 0), (8, 0), (16, 0), (16, 8), (16, 16), (8, 16), (0, 16), (0, 8), (0, 0)]
    for _ in range(6):
        middle = rng.integers(1, 31, 2) * 128
        total = np.zeros((16, 16), np.int64)
        for first, second in pairwise(around):
            polygon = np.array([middle, np.array(first) * 256, np.array(second) * 256])
            mask = masks(polygon, size, samples)
            for bit in range(samples):
                total += (mask >> bit) & 1
        assert (total == samples).all()


def test_left_and_top_edges_own_their_samples() -> None:
    square = np.array([[1, 1], [4, 1], [4, 3], [1, 3]]) * 256 + 128
    result = np.argwhere(masks(square, (8, 8), 1))
    assert result.tolist() == [[y, x] for y in (1, 2) for x in (1, 2, 3)]
    assert np.array_equal(masks(square[::-1].copy(), (8, 8), 1), masks(square, (8, 8), 1))


def test_a_large_polygon_is_found_in_parts() -> None:
    size = (2048, 1500)
    square = np.array([[-5, -5], [3000, -5], [3000, 3000], [-5, 3000]]) * 256
    parts = list(covered_quads(square, size, sample_locations(1)))
    assert len(parts) > 1
    assert sum(int((part.masks != 0).sum()) for part in parts) == size[0] * size[1]


def test_there_are_as_many_samples_as_vulkan_has_standard_places_for() -> None:
    assert sample_locations(4)[1].tolist() == [0.875, 0.375]
    assert all(len(np.unique(sample_locations(count), axis=0)) == count for count in COUNTS)
    with pytest.raises(Unsupported, match="16"):
        sample_locations(16)


@pytest.mark.parametrize(
    ("topology", "count", "primitives"),
    [
        ("triangles", 7, [[0, 1, 2], [3, 4, 5]]),
        ("triangle_strip", 6, [[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]]),
        ("triangle_fan", 5, [[1, 2, 0], [2, 3, 0], [3, 4, 0]]),
        ("lines", 5, [[0, 1], [2, 3]]),
        ("line_strip", 3, [[0, 1], [1, 2]]),
        ("points", 2, [[0], [1]]),
        ("triangle_fan", 1, []),
    ],
)
def test_primitives_are_made_of_vertices_as_vulkan_says(topology, count, primitives) -> None:
    assert assemble(topology, count).tolist() == primitives


def test_an_unknown_topology_is_named() -> None:
    with pytest.raises(Unsupported, match="patches"):
        assemble("patches", 3)


@pytest.mark.parametrize("topology", ["triangle_strip", "triangle_fan"])
def test_the_triangles_of_a_square_cover_each_pixel_once(topology: str) -> None:
    places = [(0, 0), (8, 0), (0, 8), (8, 8)]
    if topology == "triangle_fan":
        places = [(0, 0), (8, 0), (8, 8), (0, 8)]
    result = reference().draw(
        COUNT,
        (8, 8),
        {"times": np.zeros(64, np.uint32)},
        vertices={"position": in_pixels(places, (8, 8))},
        state=DrawState(topology=topology),
        push={"width": 8},
    )
    assert (result["times"] == 1).all()
    assert sorted(np.unique(result["drawn"])) == [1, 2]
    assert result.events == ()


def test_a_point_is_a_square_and_its_coordinates_run_over_it() -> None:
    vertex = """#version 450
    layout(location = 0) in vec4 place;
    void main() { gl_Position = place; gl_PointSize = 4.0; }"""
    fragment = "#version 450\nlayout(location = 0) out vec2 at; void main() { at = gl_PointCoord; }"
    result = reference().draw(
        fragment,
        (8, 8),
        vertex=vertex,
        vertices={"place": in_pixels([(4, 4)], (8, 8))},
        state=DrawState(topology="points"),
    )["at"]
    expected = np.zeros((8, 8, 2), np.float32)
    ramp = np.array([0.125, 0.375, 0.625, 0.875])
    expected[2:6, 2:6, 0], expected[2:6, 2:6, 1] = ramp, ramp[:, None]
    assert np.array_equal(result, expected)


def test_a_point_outside_is_not_seen_at_all() -> None:
    result = reference().draw(
        "#version 450\nlayout(location = 0) out float c; void main() { c = 1.0; }",
        (8, 8),
        vertices={"position": in_pixels([(-0.25, 4)], (8, 8))},
        state=DrawState(topology="points"),
    )
    assert not result["c"].any()


def test_a_line_is_a_rectangle_of_width_one() -> None:
    fragment = """#version 450
    layout(location = 0) in float t; layout(location = 0) out float c; void main() { c = t; }"""
    result = reference().draw(
        fragment,
        (8, 8),
        vertices={
            "position": in_pixels([(1, 2.5), (5, 2.5)], (8, 8)),
            "t": np.array([1, 5], np.float32),
        },
        state=DrawState(topology="lines"),
    )["c"]
    expected = np.zeros((8, 8), np.float32)
    expected[2, 1:5] = [1.5, 2.5, 3.5, 4.5]
    assert np.array_equal(result, expected)


def test_what_lies_before_or_behind_the_depths_is_clipped() -> None:
    """Depth runs from -1 at the left to 3 at the right: a quarter of the width is between 0 and 1."""
    corners = triangles((-1, -1, -1), (1, -1, 3), (-1, 1, -1), (1, -1, 3), (1, 1, 3), (-1, 1, -1))
    fragment = "#version 450\nlayout(location = 0) out float z; void main() { z = gl_FragCoord.z; }"
    result = reference().draw(fragment, (16, 4), vertices={"position": corners})["z"]
    expected = np.zeros((4, 16), np.float32)
    expected[:, 4:8] = [0.125, 0.375, 0.625, 0.875]
    assert np.array_equal(result, expected)


def test_what_lies_behind_the_viewer_is_not_seen() -> None:
    """One corner has a negative w: in front of the viewer the triangle grows wider without an end."""
    fragment = "#version 450\nlayout(location = 0) out float w; void main() { w = gl_FragCoord.w; }"
    corners = np.array([[-1, -1, 0, 1], [1, -1, 0, 1], [0, 3, 0, -1]], np.float32)
    downwards = reference().draw(fragment, (8, 8), vertices={"position": corners})["w"]
    assert np.array_equal(downwards[:, 3], 2 + (np.arange(8) + 0.5) / 4 - 1)
    assert (downwards == downwards[:, :1]).all()
    corners[2] = [0, -1, 0, -1]
    upwards = reference().draw(fragment, (8, 8), vertices={"position": corners})["w"]
    assert not upwards.any()


def test_clip_and_cull_distances() -> None:
    vertex = """#version 450
    layout(location = 0) in vec4 position;
    layout(push_constant) uniform Push { float cull; };
    out gl_PerVertex { vec4 gl_Position; float gl_ClipDistance[1]; float gl_CullDistance[1]; };
    void main() { gl_Position = position; gl_ClipDistance[0] = position.x; gl_CullDistance[0] = cull; }"""
    corners = triangles((-1, -1), (3, -1), (-1, 3))
    fragment = "#version 450\nlayout(location = 0) out float one; void main() { one = 1.0; }"
    for cull, first in ((0.0, 4), (-1.0, 8)):
        result = reference().draw(
            fragment, (8, 8), vertex=vertex, vertices={"position": corners}, push={"cull": cull}
        )["one"]
        expected = np.zeros((8, 8))
        expected[:, first:] = 1
        assert np.array_equal(result, expected)


def test_triangles_without_area_or_with_places_that_are_no_numbers_are_not_seen() -> None:
    fragment = "#version 450\nlayout(location = 0) out float one; void main() { one = 1.0; }"
    flat = triangles((-1, -1), (0, 0), (1, 1))
    broken = triangles((-1, -1), (3, np.nan), (-1, 3))
    for corners in (flat, broken):
        assert not reference().draw(fragment, (8, 8), vertices={"position": corners})["one"].any()


def test_facing_follows_the_direction_on_the_screen() -> None:
    fragment = """#version 450
    layout(location = 0) out uint front; void main() { front = 1u + uint(gl_FrontFacing); }"""
    corners = triangles((-1, -1), (3, -1), (-1, 3))
    for order, front in (((0, 1, 2), 1), ((0, 2, 1), 2)):
        result = reference().draw(fragment, (2, 2), vertices={"position": corners[list(order)]})
        assert (result["front"] == front).all()
