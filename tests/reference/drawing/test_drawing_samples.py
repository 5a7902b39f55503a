"""Multisampling: coverage, sample shading, masks, resolving, and the points at which inputs are taken."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import in_pixels, reference

from vkgroup.base.errors import Unsupported
from vkgroup.dispatch import DrawState
from vkgroup.reference.drawing.coverage import sample_locations

ONE = "#version 450\nlayout(location = 0) out float one; void main() { one = 1.0; }"

# A triangle whose long edge has sample locations on both sides in many pixels.
SLANTED = [(0.3, 0.1), (7.7, 0.6), (1.1, 7.9)]


def covered(places: list[tuple[float, float]], samples: int, size: int = 8) -> np.ndarray:
    """Return the samples inside a triangle, by the signs of its edge functions."""
    corners = np.array(places)
    y, x = np.mgrid[:size, :size]
    result = np.zeros((size, size, samples), bool)
    for number, (dx, dy) in enumerate(sample_locations(samples)):
        sides = [
            (b[0] - a[0]) * (y + dy - a[1]) - (b[1] - a[1]) * (x + dx - a[0])
            for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)
        ]
        result[..., number] = np.all(np.array(sides) > 0, axis=0)
    return result


@pytest.mark.parametrize("samples", [1, 2, 4, 8])
def test_samples_are_covered_and_averaged(samples: int) -> None:
    positions = in_pixels(SLANTED, (8, 8))
    expected = covered(SLANTED, samples)
    device = reference()
    if samples > 1:
        each = device.draw(
            ONE, (8, 8), vertices={"position": positions}, state=DrawState(samples=samples, resolve=False)
        )
        assert np.array_equal(each["one"], expected)
    result = device.draw(ONE, (8, 8), vertices={"position": positions}, state=DrawState(samples=samples))
    assert np.array_equal(result["one"], expected.mean(axis=2))


def test_other_numbers_of_samples_are_unsupported() -> None:
    with pytest.raises(Unsupported, match="16"):
        reference().draw(ONE, (4, 4), state=DrawState(samples=16))


def test_integers_resolve_to_the_first_sample() -> None:
    source = "#version 450\nlayout(location = 0) out uint c; void main() { c = 9u; }"
    positions = in_pixels(SLANTED, (8, 8))
    result = reference().draw(source, (8, 8), vertices={"position": positions}, state=DrawState(samples=4))[
        "c"
    ]
    assert np.array_equal(result, covered(SLANTED, 4)[..., 0] * 9)


COUNTING = """#version 450
layout(binding = 0) buffer Data { uint times[64]; };
layout(location = 0) out uvec4 c;
void main() {
    atomicAdd(times[int(gl_FragCoord.x) + 8 * int(gl_FragCoord.y)], 1u);
    c = uvec4(gl_SampleMaskIn[0], vec2(fract(gl_FragCoord.xy) * 16.0), %s);
}"""


def counted(last: str, *, sample_shading: bool = False) -> tuple[np.ndarray, np.ndarray]:
    result = reference().draw(
        COUNTING % last,
        (8, 8),
        {"Data": np.zeros(64, np.uint32)},
        vertices={"position": in_pixels(SLANTED, (8, 8))},
        state=DrawState(samples=4, sample_shading=sample_shading, resolve=False),
    )
    return result["times" if "times" in result else "Data"].reshape(8, 8), result["c"]


def test_without_sample_shading_a_pixel_is_shaded_once() -> None:
    times, c = counted("0u")
    mask = covered(SLANTED, 4)
    assert np.array_equal(times, mask.any(axis=2))
    assert np.array_equal(c[..., 0], mask * (mask @ [1, 2, 4, 8])[..., None])
    assert (c[mask][:, 1:3] == 8).all()


@pytest.mark.parametrize("asking", [False, True])
def test_with_sample_shading_each_sample_is_shaded(asking: bool) -> None:
    times, c = counted("gl_SampleID" if asking else "0u", sample_shading=not asking)
    mask = covered(SLANTED, 4)
    assert np.array_equal(times, mask.sum(axis=2))
    assert np.array_equal(c[..., 0], mask * np.array([1, 2, 4, 8]))
    for number, place in enumerate(sample_locations(4) * 16):
        assert (c[..., number, :][mask[..., number]][:, 1:3] == place).all()
        if asking:
            assert (c[..., number, 3][mask[..., number]] == number).all()


def test_quads_with_sample_shading_are_of_one_sample() -> None:
    source = """#version 450
    #extension GL_KHR_shader_subgroup_quad : require
    layout(location = 0) out uvec4 c;
    void main() {
        uvec2 at = uvec2(gl_FragCoord.xy);
        c = uvec4(subgroupQuadSwapHorizontal(gl_SampleID) + 1, subgroupQuadSwapDiagonal(at.x),
                  uvec2(gl_SamplePosition * 16.0));
    }"""
    result = reference().draw(source, (4, 4), state=DrawState(samples=8, resolve=False))["c"]
    assert np.array_equal(result[..., 0], np.broadcast_to(np.arange(8) + 1, (4, 4, 8)))
    assert np.array_equal(result[..., 0, 1], np.broadcast_to(np.arange(4) ^ 1, (4, 4)))
    assert np.array_equal(result[0, 0, :, 2:], sample_locations(8) * 16)


def test_a_shader_may_leave_samples_out() -> None:
    source = """#version 450
    layout(location = 0) out float c;
    void main() { c = 1.0; gl_SampleMask[0] = int(gl_FragCoord.x) == 1 ? 6 : -1; }"""
    result = reference().draw(source, (3, 2), state=DrawState(samples=4, resolve=False))["c"]
    assert (result[:, 1] == (0, 1, 1, 0)).all()
    assert (result[:, [0, 2]] == 1).all()


def test_where_inputs_are_taken() -> None:
    """x in pixels goes from 0 to 8 over the image: undecorated, centroid, of each sample."""
    vertex = """#version 450
    layout(location = 0) in vec4 position;
    layout(location = 0) out float x; layout(location = 1) out float c; layout(location = 2) out float s;
    void main() { gl_Position = position; x = c = s = (position.x + 1.0) * 4.0; }"""
    fragment = """#version 450
    layout(location = 0) in float x; layout(location = 1) centroid in float c;
    layout(location = 2) %s in float s; layout(location = 0) out vec4 color;
    void main() { color = vec4(x, c, s, 1); }"""
    positions = in_pixels([(0, 0), (8, 0), (0, 8)], (8, 8))
    mask = covered([(0, 0), (8, 0), (0, 8)], 4)
    corner, locations = np.arange(8), sample_locations(4)
    options = {
        "vertex": vertex,
        "vertices": {"position": positions},
        "state": DrawState(samples=4, resolve=False),
    }
    plain = reference().draw(fragment % "", (8, 8), **options)["color"]
    first = np.argmax(mask, axis=2)
    partial = mask.any(axis=2) & ~mask.all(axis=2)
    centroid = corner + np.where(partial, locations[first, 0], 0.5)
    assert np.array_equal(plain[..., 0], mask * (corner + 0.5)[None, :, None])
    assert np.array_equal(plain[..., 1], mask * centroid[..., None])
    sampled = reference().draw(fragment % "sample", (8, 8), **options)["color"]
    assert np.array_equal(sampled[..., 2], mask * (corner[:, None] + locations[:, 0]))


def test_inputs_are_interpolated_elsewhere_on_request() -> None:
    """x in pixels goes from 0 to 8 over the image, of one component of a structure's array."""
    vertex = """#version 450
    struct Pair { float other; vec2 place[2]; };
    layout(location = 0) in vec4 position;
    layout(location = 0) noperspective out Pair pair;
    void main() { gl_Position = position; pair = Pair(1.0, vec2[](vec2(0), (position.xy + 1.0) * 4.0)); }"""
    fragment = """#version 450
    struct Pair { float other; vec2 place[2]; };
    layout(location = 0) noperspective in Pair pair;
    layout(location = 0) out vec4 color;
    void main() {
        color.x = interpolateAtCentroid(pair.place[1].x);
        color.y = interpolateAtOffset(pair.place[1], vec2(0.25, -0.25)).x;
        color.z = interpolateAtSample(pair.place[1], int(gl_FragCoord.y) == 7 ? 9 : 2).x;
        color.w = pair.place[1].x;
    }"""
    places = [(0, 0), (8, 0), (0, 8)]
    mask, corner = covered(places, 4), np.arange(8)
    options = {"vertex": vertex, "vertices": {"position": in_pixels(places, (8, 8))}}
    drawn = reference().draw(fragment, (8, 8), **options, state=DrawState(samples=4, resolve=False))
    result = drawn["color"]
    first = np.argmax(mask, axis=2)
    partial = mask.any(axis=2) & ~mask.all(axis=2)
    locations = sample_locations(4)
    centroid = corner + np.where(partial, locations[first, 0], 0.5)
    assert np.array_equal(result[..., 0], mask * centroid[..., None])
    assert np.array_equal(result[..., 1], mask * (corner + 0.75)[None, :, None])
    assert np.array_equal(result[:7, ..., 2], mask[:7] * (corner + locations[2, 0])[None, :, None])
    assert np.array_equal(result[..., 3], mask * (corner + 0.5)[None, :, None])
    assert not drawn.defined["color"][7, ..., 2][mask[7]].any()
    one = reference().draw(fragment, (8, 8), **options)["color"]
    assert np.array_equal(one[0, :, 2], (corner + 0.5) * (one[0, :, 3] != 0))


def test_each_sample_has_its_depth() -> None:
    """Depth grows from 0 to 1 from left to right over 8 pixels."""
    positions = np.array([[-1, -1, 0, 1], [3, -1, 2, 1], [-1, 3, 0, 1]], np.float32)
    result = reference().draw(
        ONE, (8, 2), vertices={"position": positions}, state=DrawState(samples=4, resolve=False), depth="d32f"
    )
    expected = (np.arange(8)[:, None] + sample_locations(4)[:, 0]) / 8
    assert np.array_equal(result["depth"], np.broadcast_to(expected, (2, 8, 4)).astype(np.float32))
