"""The vertex stage, and the inputs of fragments that come from it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from drawn import in_pixels, reference, triangles

from vkgroup.dispatch import DrawState

FULL = triangles((-1, -1), (3, -1), (-1, 3))


@pytest.mark.parametrize("size", [4, 8, 32, 128])
def test_vertices_form_subgroups_in_their_order(size: int) -> None:
    vertex = """#version 450
    #extension GL_KHR_shader_subgroup_arithmetic : require
    #extension GL_KHR_shader_subgroup_ballot : require
    layout(binding = 0) buffer Data { uvec4 data[]; };
    layout(push_constant) uniform Push { uint count; };
    void main() {
        gl_Position = vec4(0);
        gl_PointSize = 1.0;
        data[gl_InstanceIndex * count + gl_VertexIndex] = uvec4(
            gl_SubgroupInvocationID, subgroupAdd(gl_VertexIndex), gl_SubgroupSize,
            subgroupBallotBitCount(subgroupBallot(true)));
    }"""
    result = reference(size).draw(
        "#version 450\nvoid main() {}",
        (4, 4),
        {"data": np.zeros((3 * 11, 4), np.uint32)},
        vertex=vertex,
        count=11,
        instances=3,
        state=DrawState(topology="points"),
        push={"count": 11},
    )
    number = np.arange(33)
    group = number // size
    sums = np.bincount(group, weights=number % 11)
    counts = np.bincount(group)
    expected = np.stack([number % size, sums[group], np.full(33, size), counts[group]], axis=1)
    assert np.array_equal(result["data"], expected)
    assert result.defined["data"].all()


def test_indices_and_instances() -> None:
    vertex = """#version 450
    #extension GL_ARB_shader_draw_parameters : require
    layout(location = 0) in vec2 place;
    layout(location = 1) in vec4 lacking;
    layout(location = 0) flat out ivec4 numbers;
    layout(location = 1) out vec4 rest;
    void main() {
        gl_Position = vec4(place + vec2(gl_InstanceIndex, 0), 0, 1);
        gl_PointSize = 1.0;
        int bases = gl_BaseVertexARB + gl_BaseInstanceARB;
        numbers = ivec4(gl_VertexIndex, gl_InstanceIndex, bases, gl_DrawIDARB);
        rest = lacking;
    }"""
    fragment = """#version 450
    layout(location = 0) flat in ivec4 numbers; layout(location = 1) in vec4 rest;
    layout(location = 0) out ivec4 color; layout(location = 1) out vec4 other;
    layout(location = 2) out int primitive;
    void main() { color = numbers; other = rest; primitive = gl_PrimitiveID; }"""
    places = np.array([[-0.625, 0.5], [-0.125, 0.5], [0, 0]], np.float32)
    result = reference().draw(
        fragment,
        (8, 2),
        vertex=vertex,
        vertices={"place": places, "lacking": np.array([2, 3, 4], np.float32)},
        indices=[1, 0],
        instances=2,
        state=DrawState(topology="points"),
    )
    assert result["color"][1].tolist() == [
        [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0],
        [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0],
    ]  # fmt: skip
    assert result["primitive"][1].tolist() == [0, 1, 0, 0, 0, 1, 0, 0]
    assert result["other"][1, 3].tolist() == [3, 0, 0, 1]


def test_flat_inputs_are_those_of_the_first_vertex() -> None:
    fragment = """#version 450
    layout(location = 0) flat in uint number; layout(location = 0) out uint color;
    void main() { color = number; }"""
    places = in_pixels([(0, 0), (4, 0), (0, 4), (4, 4)], (4, 4))
    result = reference().draw(
        fragment,
        (4, 4),
        vertices={"position": places, "number": np.array([10, 11, 12, 13], np.uint32)},
        state=DrawState(topology="triangle_strip"),
    )["color"]
    assert result[0, 0] == 10
    assert result[3, 3] == 11


def test_perspective_and_linear_interpolation() -> None:
    """The far end is four times as far: half of the screen is a fifth of the way, with perspective."""
    vertex = """#version 450
    layout(location = 0) in vec4 position; layout(location = 1) in float value;
    layout(location = 0) out float smoothly; layout(location = 1) noperspective out float linearly;
    void main() { gl_Position = position; smoothly = linearly = value; }"""
    fragment = """#version 450
    layout(location = 0) in float smoothly; layout(location = 1) noperspective in float linearly;
    layout(location = 0) out vec3 color;
    void main() { color = vec3(smoothly, linearly, gl_FragCoord.w); }"""
    near, far = 1.0, 4.0
    positions = np.array(
        [[-near, -near, 0, near], [far, -far, 0, far], [-near, 3 * near, 0, near]], np.float32
    )
    result = reference().draw(
        fragment,
        (16, 4),
        vertex=vertex,
        vertices={"position": positions, "value": np.array([0, 1, 0], np.float32)},
    )["color"]
    t = (np.arange(16) + 0.5) / 16
    seen = result[0, :, 1] != 0
    assert seen[:15].all()
    expected = (t / far) / ((1 - t) / near + t / far)
    assert np.allclose(result[0, seen, 0], expected[seen], rtol=2**-22, atol=0)
    assert np.allclose(result[0, seen, 1], t[seen], rtol=2**-22, atol=0)
    assert np.allclose(result[0, seen, 2], (1 - t[seen]) / near + t[seen] / far, rtol=2**-22, atol=0)


def test_matrices_arrays_structures_and_blocks_go_from_stage_to_stage() -> None:
    types = """
    struct Pair { vec2 first; float second[2]; };
    """
    vertex = f"""#version 450
    {types}
    layout(location = 0) in vec4 position;
    layout(location = 0) out mat2x3 matrix;
    layout(location = 2) out Pair pairs[2];
    layout(location = 8) out Block {{ vec3 a; flat ivec2 b; }} block;
    layout(location = 11, component = 0) out vec2 low;
    layout(location = 11, component = 2) out vec2 high;
    layout(location = 12) flat out dvec3 exact;
    void main() {{
        gl_Position = position;
        matrix = mat2x3(1, 2, 3, 4, 5, 6);
        for (int i = 0; i < 2; i++)
            pairs[i] = Pair(vec2(7, 8) + 10.0 * i, float[](9.0 + 10.0 * i, 10.0 + 10.0 * i));
        block.a = vec3(11, 12, 13);
        block.b = ivec2(14, 15);
        low = vec2(16, 17);
        high = vec2(18, 19);
        exact = dvec3(20, 21, 22);
    }}"""
    fragment = f"""#version 450
    {types}
    layout(location = 0) in mat2x3 matrix;
    layout(location = 2) in Pair pairs[2];
    layout(location = 8) in Block {{ vec3 a; flat ivec2 b; }} block;
    layout(location = 11, component = 0) in vec2 low;
    layout(location = 11, component = 2) in vec2 high;
    layout(location = 12) flat in dvec3 exact;
    layout(location = 0) out vec4 color[4];
    void main() {{
        color[0] = vec4(matrix[0].z, matrix[1].xyz);
        color[1] = vec4(pairs[1].first, pairs[1].second[1], pairs[0].second[0]);
        color[2] = vec4(block.a.z, block.b, high.y);
        color[3] = vec4(exact, low.y);
    }}"""
    result = reference().draw(fragment, (2, 2), vertex=vertex, vertices={"position": FULL})
    got = [array[0, 0].tolist() for array in result.values()]
    assert got == [[3, 4, 5, 6], [17, 18, 20, 9], [13, 14, 15, 19], [20, 21, 22, 17]]


def test_what_the_vertex_shader_left_undefined_is_so_in_the_fragments() -> None:
    vertex = """#version 450
    layout(location = 0) in vec4 position;
    layout(location = 0) out vec2 half_written;
    void main() { gl_Position = position; half_written.y = 3.0; }"""
    fragment = """#version 450
    layout(location = 0) in vec2 half_written; layout(location = 0) out vec2 color;
    void main() { color = half_written; }"""
    result = reference().draw(fragment, (2, 2), vertex=vertex, vertices={"position": FULL})
    assert (result.defined["color"] == (False, True)).all()
    (event,) = result.events
    assert event.cause.detail == "in the vertex shader: half_written has no value yet"


def test_the_size_of_a_point_matters_to_points_only() -> None:
    vertex = """#version 450
    layout(location = 0) in vec4 position;
    void main() { gl_Position = position; if (gl_VertexIndex == 0) gl_PointSize = 2.0; }"""
    fragment = "#version 450\nlayout(location = 0) out float color; void main() { color = 1.0; }"
    for topology, known in (("triangles", True), ("points", False)):
        result = reference().draw(
            fragment, (2, 2), vertex=vertex, vertices={"position": FULL}, state=DrawState(topology=topology)
        )
        assert (result.defined["color"] == known).all()


def test_an_undefined_position_leaves_everything_undefined() -> None:
    vertex = """#version 450
    layout(location = 0) in vec4 position;
    void main() { float x; gl_Position = position; if (gl_VertexIndex == 1) gl_Position.x = x; }"""
    fragment = "#version 450\nlayout(location = 0) out float color; void main() { color = 1.0; }"
    result = reference().draw(fragment, (2, 2), vertex=vertex, vertices={"position": FULL}, depth="d32f")
    assert not result.defined["color"].any()
    assert not result.defined["depth"].any()
    assert result.events[0].message == "the position of a primitive depends on an undefined value"


@pytest.mark.parametrize("qualifier", ["", "noperspective "])
@pytest.mark.parametrize(
    ("given", "expected"), [((np.inf,) * 3, np.inf), ((np.inf, -np.inf, 0), np.nan), ((np.nan, 0, 0), np.nan)]
)
def test_values_between_vertices_may_be_infinite(
    qualifier: str, given: tuple[float, ...], expected: float
) -> None:
    vertex = f"""#version 450
    layout(location = 0) in vec2 place;
    layout(location = 1) in float given;
    layout(location = 0) {qualifier}out float value;
    void main() {{ gl_Position = vec4(place, 0, 1); value = given; }}"""
    fragment = f"""#version 450
    layout(location = 0) {qualifier}in float value;
    layout(location = 0) out float color;
    void main() {{ color = value; }}"""
    values = {0: FULL, 1: np.array(given, np.float32)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = reference(4).draw(fragment, (4, 4), vertex=vertex, vertices=values, colors={0: "r32f"})
    assert np.array_equal(result["color"], np.full((4, 4), expected), equal_nan=True)
