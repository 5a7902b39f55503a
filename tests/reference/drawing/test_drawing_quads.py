"""Quads and subgroups of fragments: lanes against pixels, at several subgroup sizes."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import in_pixels, lanes, reference, triangles

from vkgroup.base.errors import Unsupported
from vkgroup.reference.events import FragmentInvocation, VertexInvocation

SIZES = (4, 8, 32, 128)

WHERE = """
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_quad : require
layout(location = 0) out uvec4 color;
void main() {
    uint packed = uint(gl_FragCoord.x) | uint(gl_FragCoord.y) << 8;
    uint lane = gl_SubgroupInvocationID;
    color = uvec4(lane, subgroupQuadSwapHorizontal(packed), subgroupQuadSwapVertical(packed),
                  subgroupQuadBroadcast(packed, 3u));
}"""


def packed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x | y << 8


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shuffle", [None, 7])
def test_the_lanes_of_a_quad_are_its_pixels(size: int, shuffle: int | None) -> None:
    result, causes, outcome = lanes(WHERE, (9, 7), subgroup_size=size, shuffle=shuffle)
    y, x = np.mgrid[:7, :9]
    assert np.array_equal(result[..., 0] % 4, x % 2 + y % 2 * 2)
    assert np.array_equal(result[..., 1], packed(x ^ 1, y))
    assert np.array_equal(result[..., 2], packed(x, y ^ 1))
    assert np.array_equal(result[..., 3], packed(x | 1, y | 1))
    assert not causes.any()
    assert outcome.events == ()
    assert (outcome.fragments, outcome.helpers) == (63, 17)


@pytest.mark.parametrize("size", SIZES)
def test_quads_fill_subgroups_row_by_row(size: int) -> None:
    result, _, _ = lanes(WHERE, (8, 8), subgroup_size=size)
    y, x = np.mgrid[:8, :8]
    quad = y // 2 * 4 + x // 2
    assert np.array_equal(result[..., 0], (quad * 4 + x % 2 + y % 2 * 2) % size)


COUNTED = """
#extension GL_KHR_shader_subgroup_ballot : require
layout(location = 0) out uvec4 color;
void main() {
    uvec4 all = subgroupBallot(true);
    color = uvec4(subgroupBallotBitCount(all), all.x, gl_PrimitiveID, gl_HelperInvocation);
}"""

# Two triangles of one square of 4x4 pixels; the diagonal runs through quads.
SQUARE = [(0, 0), (4, 0), (0, 4), (4, 0), (4, 4), (0, 4)]


def test_a_subgroup_is_of_one_primitive() -> None:
    result, _, outcome = lanes(COUNTED, (4, 4), positions=in_pixels(SQUARE, (4, 4)), subgroup_size=32)
    assert outcome.primitives == 2
    # The upper left triangle touches three quads, the lower right one the three others of the diagonal.
    assert outcome.fragments == 16
    for primitive in (0, 1):
        mine = result[result[..., 2] == primitive]
        assert (mine[:, 0] == 12).all()
    assert outcome.helpers == 8


def test_quads_of_several_primitives_may_share_subgroups() -> None:
    result, _, _ = lanes(
        COUNTED, (4, 4), positions=in_pixels(SQUARE, (4, 4)), subgroup_size=32, mix_primitives=True
    )
    assert (result[..., 0] == 24).all()
    assert sorted(np.unique(result[..., 2])) == [0, 1]
    assert not result[..., 3].any()


@pytest.mark.parametrize("mix", [False, True])
def test_shuffled_quads_give_the_same_picture(mix: bool) -> None:
    source = """
    layout(location = 0) out uvec4 color;
    void main() { color = uvec4(uvec2(gl_FragCoord.xy), gl_PrimitiveID, 1); }"""
    # The second triangle covers the first.
    places = triangles((-1, -1), (3, -1), (-1, 3), (-1, -1), (1, -1), (-1, 1))
    plain, _, _ = lanes(source, (32, 32), positions=places, subgroup_size=16)
    for seed in range(3):
        result, _, _ = lanes(
            source, (32, 32), positions=places, subgroup_size=16, shuffle=seed, mix_primitives=mix
        )
        assert np.array_equal(result, plain)


def test_many_fragments_come_in_parts() -> None:
    source = """
    layout(binding = 0) buffer Total { uint total; };
    layout(location = 0) out uvec4 color;
    void main() { atomicAdd(total, 1u); color = uvec4(gl_PrimitiveID + 1); }"""
    places = np.concatenate([triangles((-1, -1), (3, -1), (-1, 3))] * 6)
    total = np.zeros(1, np.uint32)
    result, _, outcome = lanes(source, (200, 150), total, positions=places)
    assert (result == 6).all()
    assert total[0] == outcome.fragments == 6 * 200 * 150


def test_a_subgroup_smaller_than_a_quad_draws_nothing() -> None:
    with pytest.raises(Unsupported, match="quad"):
        lanes(WHERE, (4, 4), subgroup_size=2)
    device = reference(2)
    assert device.capabilities.subgroup.supported_stages == ("vertex", "compute")
    with pytest.raises(Unsupported, match="quads of fragments"):
        device.draw("#version 450\nvoid main() {}", (4, 4))


def test_events_say_which_fragment_it_was() -> None:
    source = """
    layout(location = 0) out uvec4 color;
    void main() { uint x; color = gl_FragCoord.xy == vec2(2.5, 1.5) ? uvec4(x) : uvec4(0); }"""
    _, causes, outcome = lanes(source, (4, 4), subgroup_size=8)
    assert np.argwhere(causes.any(axis=2)).tolist() == [[1, 2]]
    (event,) = outcome.events
    assert (event.kind, event.memory, event.cause.kind) == ("undefined", "color", "uninitialised")
    assert event.invocation == FragmentInvocation((0, 0, 0), (2, 1, 0), 0, 6, 0, 2, 1, -1, False)


def test_events_say_which_vertex_it_was() -> None:
    vertex = """#version 450
    layout(binding = 0) buffer Data { uint data[]; };
    void main() {
        gl_Position = vec4(0);
        if (gl_VertexIndex == 2 && gl_InstanceIndex == 1) data[9] = 1u;
    }"""
    result = reference().draw(
        "#version 450\nvoid main() {}", (2, 2), {"data": np.zeros(4, np.uint32)}, vertex=vertex, instances=2
    )
    (event,) = result.events
    assert event.kind == "bounds"
    assert event.invocation == VertexInvocation((0, 0, 0), (5, 0, 0), 0, 5, 2, 1)
