"""Drawing: shaders, vertices, attachments and samples in, arrays out; the same on every device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draw_arguments import with_state
from refusals import lacks

from vkgroup.base.errors import CompileError, DriverError, InvalidDispatch
from vkgroup.dispatch import Device, DrawState

PLACE = """#version 450
layout(location = 0) out uvec2 place;
void main() { place = uvec2(gl_FragCoord.xy); }"""

WHITE = "#version 450\nlayout(location = 0) out vec4 color; void main() { color = vec4(1.0); }"

NUMBER = """#version 450
layout(location = 0) flat in uint number;
layout(location = 0) out uint color;
void main() { color = number; }"""

# The two triangles of the square that covers the left half of the image.
LEFT_HALF = np.array([[-1, -1], [0, -1], [-1, 1], [-1, 1], [0, -1], [0, 1]], np.float32)


def corners(*depths: float) -> Any:
    """Return triangles that cover everything, each at its depth: (3 × n, 4)."""
    xy = np.array([[-1, -1], [3, -1], [-1, 3]], np.float32)
    return np.concatenate([np.column_stack([xy, np.full(3, depth), np.ones(3)]) for depth in depths]).astype(
        np.float32
    )


def numbers(*values: int) -> Any:
    return np.repeat(np.array(values, np.uint32), 3)


# --- shaders and sizes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (5, 3), (1, 64), (130, 7)])
def test_every_pixel_is_covered_once_and_stands_where_it_was(device: Device, size: tuple[int, int]) -> None:
    found = device.draw(PLACE, size)["place"]
    rows, columns = np.mgrid[: size[1], : size[0]]
    assert found.dtype == np.uint32
    assert np.array_equal(found, np.stack([columns, rows], -1))


def test_a_shader_may_be_a_file(device: Device, tmp_path: Path) -> None:
    file = tmp_path / "white.frag"
    file.write_text(WHITE)
    for source in (file, str(file), device.compile(file)):
        assert (device.draw(source, (2, 2))["color"] == 1).all()


def test_buffers_are_read_and_written_by_fragments(device: Device) -> None:
    source = """#version 450
    layout(location = 0) out float color;
    layout(set = 0, binding = 0) readonly buffer Weights { float weights[]; };
    layout(set = 1, binding = 2) buffer Count { uint count; };
    layout(push_constant) uniform Push { uint width; float scale; };
    layout(constant_id = 3) const uint START = 1;
    void main() {
        uvec2 at = uvec2(gl_FragCoord.xy);
        color = weights[at.y * width + at.x] * scale + float(START);
        atomicAdd(count, 1u);
    }"""
    weights = np.arange(12, dtype=np.float32)
    found = device.draw(
        source,
        (4, 3),
        {"weights": weights, (1, 2): np.zeros(1, np.uint32)},
        push={"width": 4, "scale": 0.5},
        specialization={"START": 7},
    )
    assert np.array_equal(found["color"], weights.reshape(3, 4) * 0.5 + 7)
    assert found[1, 2].tolist() == [12]


def test_storage_images_are_written_by_fragments(device: Device) -> None:
    source = """#version 450
    layout(set = 0, binding = 0, r32ui) uniform writeonly uimage2D picture;
    void main() { imageStore(picture, ivec2(gl_FragCoord.yx), uvec4(gl_FragCoord.x * 16
        + gl_FragCoord.y)); }"""
    found = device.draw(source, (4, 3), {"picture": np.zeros((4, 3), np.uint32)})["picture"]
    rows, columns = np.mgrid[:4, :3]
    assert np.array_equal(found, np.floor((rows + 0.5) * 16 + columns + 0.5).astype(np.uint32))


# --- vertices ------------------------------------------------------------------------------------------


def test_vertices_say_what_is_covered(device: Device) -> None:
    found = device.draw(WHITE, (8, 4), vertices={"position": LEFT_HALF})["color"]
    assert (found[:, :4] == 1).all()
    assert (found[:, 4:] == 0).all()


def test_values_at_the_corners_are_interpolated(device: Device) -> None:
    source = """#version 450
    layout(location = 0) in vec2 uv;
    layout(location = 0) out vec2 color;
    void main() { color = uv; }"""
    uv = np.array([[0, 0], [2, 0], [0, 2]], np.float32)
    found = device.draw(source, (8, 4), vertices={"uv": uv})["color"]
    rows, columns = np.mgrid[:4, :8]
    # Powers of two everywhere: interpolation has nothing to round but the weights themselves, whose error
    # Vulkan leaves open; 2^-8 of the range is what 8 bits of subpixel precision would give.
    assert np.allclose(found[..., 0], (columns + 0.5) / 8, rtol=0, atol=2 * 2.0**-8)
    assert np.allclose(found[..., 1], (rows + 0.5) / 4, rtol=0, atol=2 * 2.0**-8)


def test_flat_values_are_those_of_the_first_vertex(device: Device) -> None:
    values = np.array([5, 6, 7], np.uint32)
    found = device.draw(NUMBER, (4, 4), vertices={"position": corners(0), "number": values})["color"]
    assert (found == 5).all()


def test_a_vertex_shader_reads_attributes_buffers_and_its_index(device: Device) -> None:
    vertex = """#version 450
    layout(location = 0) in vec2 at;
    layout(location = 1) in ivec3 shift;
    layout(set = 0, binding = 0) readonly buffer Scale { float scale[]; };
    layout(location = 3) flat out uint instance;
    void main() {
        gl_Position = vec4(at * scale[gl_VertexIndex] + vec2(shift.xy), 0.0, 1.0);
        instance = gl_InstanceIndex + 1;
    }"""
    fragment = NUMBER.replace("location = 0) flat", "location = 3) flat").replace("number", "instance")
    found = device.draw(
        fragment,
        (8, 4),
        {"scale": np.full(6, 2, np.float32)},
        vertex=vertex,
        vertices={"at": LEFT_HALF / 2, "shift": np.zeros((6, 3), np.int32)},
        instances=2,
    )["color"]
    assert (found[:, :4] == 2).all()  # the second instance is drawn over the first
    assert (found[:, 4:] == 0).all()


def test_indices_choose_the_vertices(device: Device) -> None:
    square = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
    indices = np.array([0, 1, 2, 2, 1, 3])
    drawn = device.draw(WHITE, (6, 6), vertices={"position": square}, indices=indices)["color"]
    assert (drawn == 1).all()
    half = device.draw(WHITE, (6, 6), vertices={"position": square}, indices=indices, count=3)["color"]
    assert half[0, 0, 0] == 1
    assert half[5, 5, 0] == 0


@pytest.mark.parametrize(
    ("topology", "order"), [("triangle_strip", (0, 1, 2, 3)), ("triangle_fan", (0, 1, 3, 2))]
)
def test_strips_and_fans(device: Device, topology: str, order: tuple[int, ...]) -> None:
    square = np.array([[-1, -1], [0, -1], [-1, 1], [0, 1]], np.float32)[list(order)]
    found = device.draw(WHITE, (8, 8), vertices={"position": square}, state=DrawState(topology=topology))[
        "color"
    ]
    assert (found[:, :4] == 1).all()
    assert (found[:, 4:] == 0).all()


def test_points(vulkan_device: Device) -> None:
    at = np.array([[-0.75, -0.75], [0.25, 0.75]], np.float32)  # the middles of two pixels
    found = vulkan_device.draw(WHITE, (4, 4), vertices={"position": at}, state=DrawState(topology="points"))[
        "color"
    ]
    assert np.argwhere(found[..., 0]).tolist() == [[0, 0], [3, 2]]


def test_no_vertices_draw_nothing(device: Device) -> None:
    for nothing in ({"count": 0}, {"instances": 0}):
        found = device.draw(WHITE, (2, 2), **nothing)["color"]
        assert (found == 0).all()


# --- attachments ---------------------------------------------------------------------------------------

HALVES = {
    "r8": (np.uint8, 1, 128),
    "rg8": (np.uint8, 2, 128),
    "rgba8": (np.uint8, 4, 128),
    "r16f": (np.float16, 1, 0.5),
    "rgba16f": (np.float16, 4, 0.5),
    "r32f": (np.float32, 1, 0.5),
    "rg32f": (np.float32, 2, 0.5),
    "rgba32f": (np.float32, 4, 0.5),
}


@pytest.mark.parametrize("name", HALVES)
def test_float_formats(device: Device, name: str) -> None:
    dtype, components, value = HALVES[name]
    source = WHITE.replace("vec4(1.0)", "vec4(0.501)") if dtype == np.uint8 else WHITE.replace("1.0", "0.5")
    found = device.draw(source, (3, 2), colors={"color": name})["color"]
    assert found.shape == ((2, 3) if components == 1 else (2, 3, components))
    assert found.dtype == dtype
    assert (found == value).all()


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("kind", ["int", "uint"])
@pytest.mark.parametrize("components", [1, 2, 4])
def test_integer_formats(device: Device, bits: int, kind: str, components: int) -> None:
    letter = "" if kind == "int" else "u"
    source = f"""#version 450
    layout(location = 0) out {letter[:1] or "i"}vec4 color;
    void main() {{ color = {letter[:1] or "i"}vec4({"-3, 4, -5, 6" if kind == "int" else "3, 4, 5, 6"}); }}"""
    prefix = {1: "r", 2: "rg", 4: "rgba"}[components]
    found = device.draw(source, (2, 2), colors={0: f"{prefix}{bits}{'i' if kind == 'int' else 'ui'}"})[0]
    wanted = np.array([-3, 4, -5, 6] if kind == "int" else [3, 4, 5, 6])[:components]
    assert found.dtype == np.dtype(f"{kind}{bits}")
    assert np.array_equal(found, np.broadcast_to(wanted, (2, 2, components)).reshape(found.shape))


def test_the_default_format_has_the_outputs_components(device: Device) -> None:
    source = """#version 450
    layout(location = 0) out vec3 three;
    layout(location = 2) out int one;
    layout(location = 3) out uvec2 two[2];
    void main() { three = vec3(1, 2, 3); one = -9; two[0] = uvec2(4, 5); two[1] = uvec2(6, 7); }"""
    found = device.draw(source, (2, 1))
    assert found["three"].tolist() == [[[1, 2, 3]] * 2]
    assert found["one"].tolist() == [[-9, -9]]
    assert found["two[0]"].tolist() == [[[4, 5]] * 2]
    assert found["two[1]"].tolist() == [[[6, 7]] * 2]
    assert found["three"].dtype == np.float32


def test_what_was_there_before_stays_where_nothing_is_drawn(device: Device) -> None:
    before = np.arange(32, dtype=np.uint32).reshape(4, 8)
    copy = before.copy()
    found = device.draw(
        NUMBER,
        (8, 4),
        vertices={"position": LEFT_HALF, "number": np.full(6, 99, np.uint32)},
        colors={"color": before},
    )["color"]
    assert (found[:, :4] == 99).all()
    assert np.array_equal(found[:, 4:], copy[:, 4:])
    assert np.array_equal(before, copy)


def test_an_image_is_drawn_to_and_then_sampled(device: Device) -> None:
    with device.image(np.zeros((4, 4, 4), np.float32), format="rgba32f") as target:
        found = device.draw(
            PLACE.replace("uvec2 place", "vec4 place").replace(
                "uvec2(gl_FragCoord.xy)", "vec4(gl_FragCoord.xy, 0.0, 1.0)"
            ),
            (4, 4),
            colors={"place": target},
        )
        assert "place" not in found
        assert np.array_equal(target.read()[..., 0], np.tile(np.arange(4) + 0.5, (4, 1)))
        source = """#version 450
        layout(set = 0, binding = 0) uniform sampler2D picture;
        layout(location = 0) out vec4 color;
        void main() { color = texelFetch(picture, ivec2(gl_FragCoord.yx), 0); }"""
        turned = device.draw(source, (4, 4), {"picture": target})["color"]
    assert np.array_equal(turned[..., 0], np.tile((np.arange(4) + 0.5)[:, None], (1, 4)))


def test_compute_then_draw(device: Device) -> None:
    compute = """#version 450
    layout(local_size_x = 16) in;
    layout(binding = 0) buffer Values { uint values[]; };
    void main() { values[gl_LocalInvocationID.x] = gl_LocalInvocationID.x * 3u; }"""
    fragment = """#version 450
    layout(binding = 0) readonly buffer Values { uint values[]; };
    layout(location = 0) out uint color;
    void main() { color = values[uint(gl_FragCoord.y) * 4u + uint(gl_FragCoord.x)]; }"""
    with device.buffer(np.zeros(16, np.uint32)) as values:
        device.run(compute, 1, {"values": values})
        found = device.draw(fragment, (4, 4), {"values": values})["color"]
    assert np.array_equal(found, (np.arange(16) * 3).reshape(4, 4))


# --- depth ---------------------------------------------------------------------------------------------

PASSES = {
    "never": (),
    "less": (0.25,),
    "equal": (0.5,),
    "less_or_equal": (0.25, 0.5),
    "greater": (0.75,),
    "not_equal": (0.25, 0.75),
    "greater_or_equal": (0.5, 0.75),
    "always": (0.25, 0.5, 0.75),
}


@pytest.mark.parametrize("compare", PASSES)
@pytest.mark.parametrize("depth", [0.25, 0.5, 0.75])
def test_depth_comparisons(device: Device, compare: str, depth: float) -> None:
    found = device.draw(
        NUMBER,
        (2, 2),
        vertices={"position": corners(depth), "number": numbers(1)},
        depth=np.full((2, 2), 0.5, np.float32),
        state=DrawState(depth_compare=compare),
    )
    passes = depth in PASSES[compare]
    assert (found["color"] == passes).all()
    assert (found["depth"] == (depth if passes else 0.5)).all()


def test_the_nearest_of_several_wins_in_any_order(device: Device) -> None:
    for depths in ((0.75, 0.25, 0.5), (0.25, 0.5, 0.75)):
        vertices = {"position": corners(*depths), "number": numbers(*(int(depth * 100) for depth in depths))}
        found = device.draw(NUMBER, (2, 2), vertices=vertices, depth="d32f")
        assert (found["color"] == 25).all()
        assert (found["depth"] == 0.25).all()


def test_depths_that_are_not_written_stay(device: Device) -> None:
    vertices = {"position": corners(0.25, 0.75), "number": numbers(1, 2)}
    found = device.draw(NUMBER, (2, 2), vertices=vertices, depth="d32f", state=DrawState(depth_write=False))
    assert (found["color"] == 2).all()
    assert (found["depth"] == 1).all()


def test_a_shader_writes_its_own_depth(device: Device) -> None:
    source = """#version 450
    void main() { gl_FragDepth = gl_FragCoord.x < 1.0 ? 0.125 : 0.5; }"""
    assert device.draw(source, (2, 1), depth="d32f")["depth"].tolist() == [[0.125, 0.5]]


# --- samples -------------------------------------------------------------------------------------------


def test_each_sample_has_its_value(device: Device) -> None:
    source = """#version 450
    layout(location = 0) out uint color;
    void main() { color = gl_SampleID + 1; }"""
    found = device.draw(source, (2, 3), state=DrawState(samples=4, resolve=False))["color"]
    assert found.shape == (3, 2, 4)
    assert (found == [1, 2, 3, 4]).all()


def test_samples_are_resolved(device: Device) -> None:
    source = WHITE.replace("vec4(1.0)", "vec4(gl_SampleID, 1.0, 0.0, -2.0)")
    found = device.draw(source, (2, 2), state=DrawState(samples=4))["color"]
    assert (found == [1.5, 1, 0, -2]).all()


def test_sample_shading_runs_once_a_sample(device: Device) -> None:
    source = """#version 450
    layout(location = 0) out vec4 color;
    layout(binding = 0) buffer Count { uint count; };
    void main() { atomicAdd(count, 1u); color = vec4(1.0); }"""
    count = {"count": np.zeros(1, np.uint32)}
    every = device.draw(source, (4, 4), count, state=DrawState(samples=4, sample_shading=True))
    assert every["count"].tolist() == [64]
    # Without, Vulkan asks for at least one invocation a pixel, and leaves more to the device (1.4, 28.9).
    found = device.draw(source, (4, 4), count, state=DrawState(samples=4))
    assert 16 <= found["count"][0] <= 64


def test_depths_of_samples(device: Device) -> None:
    vertices = {"position": corners(0.25), "number": numbers(3)}
    found = device.draw(
        NUMBER, (2, 2), vertices=vertices, depth="d32f", state=DrawState(samples=4, resolve=False)
    )
    assert found["depth"].shape == (2, 2, 4)
    assert (found["depth"] == 0.25).all()


# --- one pipeline, many draws --------------------------------------------------------------------------


def test_draws_repeat_on_the_same_memory(device: Device) -> None:
    source = """#version 450
    layout(location = 0) out uint color;
    layout(binding = 0) buffer Count { uint count; };
    layout(push_constant) uniform Push { uint step; };
    void main() { atomicAdd(count, step); color = step; }"""
    found = device.draw(source, (2, 2), {"count": np.zeros(1, np.uint32)}, push={"step": 3}, repeat=5)
    assert found["count"].tolist() == [60]
    assert (found["color"] == 3).all()


# --- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": (0, 4)}, "both at least 1"),
        ({"size": 4}, "both at least 1"),
        ({"size": (2.5, 4)}, "both at least 1"),
        ({"shader": NUMBER}, "inputs that nothing gives values: number"),
        ({"vertices": {"position": LEFT_HALF.astype(np.float64)}}, "astype"),
        ({"vertices": {"position": LEFT_HALF, "nothing": LEFT_HALF}}, "no input 'nothing'"),
        ({"vertices": {"position": LEFT_HALF[None]}}, "of shape"),
        ({"vertices": {"position": LEFT_HALF}, "count": 7}, "there are 6 vertices"),
        ({"vertices": {"position": LEFT_HALF}, "indices": [6]}, "there are 6 vertices"),
        ({"vertices": {"position": LEFT_HALF}, "indices": [0.5]}, "whole numbers"),
        ({"shader": NUMBER, "vertices": {"number": np.zeros(4, np.uint32)}}, "three values"),
        ({"colors": {"colour": "rgba8"}}, "Did you mean 'color'"),
        ({"colors": {"color": "rgba9"}}, "no image format"),
        ({"colors": {"color": "r32ui"}}, "writes floats"),
        ({"colors": {"color": np.zeros((2, 2, 4), np.float32)}}, "rows of"),
        ({"depth": "rgba8"}, "d32f and d16"),
        ({"depth": np.zeros((4, 4), np.int64)}, "float32 or uint16"),
        ({"depth": "d32f", "depth_compare": "nearer"}, "depth_compare is one of"),
        ({"topology": "quads"}, "topology is one of"),
        ({"samples": 3}, "samples is one of"),
        ({"front_face": "left"}, "front_face is one of"),
        ({"instances": -1}, "instances"),
        ({"bindings": {"nothing": np.zeros(1)}}, "no binding 'nothing'"),
        ({"specialization": {"N": 1}}, "No stage has a specialization constant 'N'"),
        ({"push": {"x": 1}}, "Push constants"),
    ],
)
def test_what_makes_no_sense_is_refused(device: Device, options: dict[str, Any], words: str) -> None:
    given = {"shader": WHITE, "size": (4, 4), **options}
    with pytest.raises(InvalidDispatch, match=words):
        device.draw(**with_state(given))


def test_a_compute_shader_is_not_drawn_and_a_fragment_shader_not_dispatched(device: Device) -> None:
    compute = device.compile("#version 450\nvoid main() {}")
    with pytest.raises(InvalidDispatch, match="fragment"):
        device.draw(compute, (2, 2))
    with pytest.raises(InvalidDispatch, match="Draw it"):
        device.run(device.compile(WHITE, stage="fragment"), 1, {})


def test_stages_that_do_not_fit_together_are_refused(device: Device) -> None:
    vertex = "#version 450\nlayout(location = 0) {} number; void main() {{ gl_Position = vec4(0); }}"
    with pytest.raises(InvalidDispatch, match="different types"):
        device.draw(NUMBER, (2, 2), vertex=vertex.format("out vec4"))
    with pytest.raises(InvalidDispatch, match="no output of the vertex shader"):
        device.draw(
            NUMBER, (2, 2), vertex=vertex.format("in vec4"), vertices={0: np.zeros((3, 4), np.float32)}
        )


def test_errors_of_the_source_are_the_compilers(device: Device) -> None:
    with pytest.raises(CompileError):
        device.draw("#version 450\nvoid main() { color = 1; }", (2, 2))


def test_too_many_samples_are_unsupported(vulkan_device: Device) -> None:
    with lacks("64 samples"):
        vulkan_device.draw(WHITE, (2, 2), state=DrawState(samples=64))


def test_an_attachment_that_was_closed_is_refused(device: Device) -> None:
    image = device.image(np.zeros((2, 2, 4), np.float32))
    image.close()
    with pytest.raises((InvalidDispatch, DriverError)):
        device.draw(WHITE, (2, 2), colors={"color": image})


@pytest.mark.parametrize("front_face", ["counter_clockwise", "clockwise"])
def test_which_triangles_face_the_viewer(device: Device, front_face: str) -> None:
    source = """#version 450
    layout(location = 0) out uint color;
    void main() { color = gl_FrontFacing ? 1 : 2; }"""
    # Clockwise as seen with y downwards: from the left to the right, then down.
    clockwise = np.array([[-1, -1], [3, -1], [-1, 3]], np.float32)
    for vertices, direction in ((clockwise, "clockwise"), (clockwise[::-1], "counter_clockwise")):
        found = device.draw(
            source, (2, 2), vertices={"position": vertices}, state=DrawState(front_face=front_face)
        )["color"]
        assert (found == (1 if direction == front_face else 2)).all()
