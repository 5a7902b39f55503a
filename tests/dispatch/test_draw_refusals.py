"""Draws that make no sense: each is refused before a driver sees it, and says what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from draw_arguments import with_state
from refusals import lacks

from vkgroup.base.errors import InvalidDispatch, OutOfMemory
from vkgroup.base.formats import FORMATS
from vkgroup.dispatch import Device
from vkgroup.dispatch.attachments import Attachment
from vkgroup.dispatch.draw_state import Attribute, DrawFormats, DrawState
from vkgroup.dispatch.vertices import Vertices

WHITE = "#version 450\nlayout(location = 0) out vec4 color; void main() { color = vec4(1.0); }"

CORNERS = "vec2[](vec2(-1, -1), vec2(3, -1), vec2(-1, 3))[gl_VertexIndex % 3]"

SIZE = (4, 4)


def vertex(body: str = "", declarations: str = "") -> str:
    """Write a vertex shader that covers the image."""
    return f"#version 450\n{declarations}\nvoid main() {{ gl_Position = vec4({CORNERS}, 0, 1);\n{body} }}"


def fragment(body: str, declarations: str = "") -> str:
    """Write a fragment shader with the output `color`."""
    return f"#version 450\nlayout(location = 0) out vec4 color;\n{declarations}\nvoid main() {{ {body} }}"


# --- arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"vertices": [np.zeros((3, 4), np.float32)]},
        {"vertices": np.zeros((3, 4), np.float32)},
        {"vertices": {"position": [[0.0], [0.0, 1.0]]}},
        {"colors": "rgba8"},
        {"colors": ["rgba8"]},
        {"specialization": [1]},
        {"samples": 4.0},
        {"samples": [4]},
        {"samples": np.ones(2)},
        {"depth_write": "no"},
        {"sample_shading": 2},
        {"topology": np.zeros(2)},
        {"count": 2**32},
        {"instances": 2**40},
        {"indices": np.array([0, 1, 2**40], np.uint64)},
        {"vertex": 7},
    ],
    ids=str,
)
def test_arguments_of_a_wrong_kind_are_refused(device: Device, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidDispatch):
        device.draw(WHITE, SIZE, **with_state(options))


def test_numbers_of_vertices_that_do_not_fit_are_named(device: Device) -> None:
    read = "layout(location = 0) in vec2 a; layout(location = 1) in vec2 b;"
    values = {"a": np.zeros((4, 2), np.float32), "b": np.zeros((3, 2), np.float32)}
    with pytest.raises(InvalidDispatch):
        device.draw(fragment("color = vec4(a, b);", read), SIZE, vertices=values)


@pytest.mark.parametrize("size", [(float("inf"), 4), (float("nan"), 4), "44", ("4", "4"), 4, None])
def test_sizes_that_are_none_are_refused(device: Device, size: Any) -> None:
    with pytest.raises(InvalidDispatch):
        device.draw(WHITE, size)


@pytest.mark.parametrize("shader", [None, 7, b"#version 450", [], object()])
def test_what_is_no_shader_is_refused(device: Device, shader: Any) -> None:
    with pytest.raises(InvalidDispatch, match="source text"):
        device.draw(shader, SIZE)
    with pytest.raises(InvalidDispatch):
        device.run(shader, 1, {})


def test_numbers_of_numpy_are_numbers(device: Device) -> None:
    found = device.draw(
        WHITE,
        (np.int64(4), np.uint8(2)),  # type: ignore[arg-type]
        state=DrawState(samples=np.int64(4), depth_write=np.True_, sample_shading=np.False_, resolve=False),  # type: ignore[arg-type]
        depth="d32f",
        # type: ignore[arg-type]
        # type: ignore[arg-type]
    )
    assert found["color"].shape == (2, 4, 4, 4)


def test_the_reference_device_says_when_it_has_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    import vkgroup
    from vkgroup.dispatch.reference import pipeline

    def exhausted(*arguments: object, **options: object) -> None:
        raise MemoryError("Unable to allocate 64.0 GiB")

    # How many vertices are too many is the machine's affair, so NumPy's answer is planted.
    monkeypatch.setattr(pipeline, "draw", exhausted)
    with vkgroup.open("reference") as device, pytest.raises(OutOfMemory, match=r"64\.0 GiB"):
        device.draw(WHITE, SIZE)


# --- attachments ---------------------------------------------------------------------------------------


def test_an_image_is_one_attachment(device: Device) -> None:
    source = """#version 450
layout(location = 0) out vec4 a; layout(location = 1) out vec4 b; void main() { a = b = vec4(1.0); }"""
    image = device.image(np.zeros((4, 4, 4), np.float32))
    with pytest.raises(InvalidDispatch, match="Give two images"):
        device.draw(source, SIZE, colors={"a": image, "b": image})


@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize(
    "declaration", ["uniform sampler2D seen", "layout(rgba32f) readonly uniform image2D seen"]
)
def test_an_image_is_not_seen_while_it_is_drawn_to(device: Device, declaration: str, samples: int) -> None:
    layout = "layout(binding = 0, rgba32f)" if "image2D" in declaration else "layout(binding = 0)"
    declaration = f"{layout} {declaration.removeprefix('layout(rgba32f) ')};"
    load = "imageLoad(seen, ivec2(0))" if "image2D" in declaration else "texelFetch(seen, ivec2(0), 0)"
    image = device.image(np.zeros((4, 4, 4), np.float32))
    with pytest.raises(InvalidDispatch, match="Give two images"):
        device.draw(
            fragment(f"color = {load};", declaration),
            SIZE,
            {"seen": image},
            colors={"color": image},
            state=DrawState(samples=samples),
        )


def test_contents_before_have_one_sample(device: Device) -> None:
    before = np.ones((4, 4, 4), np.float32)
    with pytest.raises(InvalidDispatch, match="contents of one sample"):
        device.draw(WHITE, SIZE, colors={"color": before}, state=DrawState(samples=4))
    with pytest.raises(InvalidDispatch, match="contents of one sample"):
        device.draw(WHITE, SIZE, depth=np.ones((4, 4), np.float32), state=DrawState(samples=4))


def test_samples_that_would_reach_no_image_are_refused(device: Device) -> None:
    image = device.image(np.zeros((4, 4, 4), np.float32))
    with pytest.raises(InvalidDispatch, match="resolve is False"):
        device.draw(WHITE, SIZE, colors={"color": image}, state=DrawState(samples=4, resolve=False))
    depths = device.image(np.ones((4, 4), np.float32), format="d32f", sampled=True)
    with pytest.raises(InvalidDispatch, match="depths are not resolved"):
        device.draw(WHITE, SIZE, depth=depths, state=DrawState(samples=4))
    device.draw(WHITE, SIZE, colors={"color": image}, state=DrawState(samples=4))
    assert (image.read() == 1).all()


@pytest.mark.parametrize(
    ("shape", "options"),
    [((2, 4, 4, 4), {"layers": True}), ((4, 4), {"dimension": "1D"}), ((4, 4, 4, 4), {"dimension": "3D"})],
    ids=str,
)
def test_images_that_nothing_draws_to(device: Device, shape: Any, options: dict[str, Any]) -> None:
    image = device.image(np.zeros(shape, np.float32), **options)
    with pytest.raises(InvalidDispatch, match="2D image without layers and levels"):
        device.draw(WHITE, SIZE, colors={"color": image})


def test_results_of_one_name_are_refused(device: Device) -> None:
    source = "#version 450\nlayout(location = 0) out vec4 depth; void main() { depth = vec4(1.0); }"
    with pytest.raises(InvalidDispatch, match="Two results"):
        device.draw(source, SIZE, depth="d32f")
    image = device.image(np.zeros((4, 4, 4), np.float32))
    found = device.draw(source, SIZE, depth="d32f", colors={"depth": image})
    assert found["depth"].shape == (4, 4)
    assert (image.read() == 1).all()


# --- stages that do not fit ----------------------------------------------------------------------------


def test_every_element_of_an_input_needs_an_output(device: Device) -> None:
    three = fragment("color = values[2];", "layout(location = 1) in vec4 values[3];")
    two = vertex("values[0] = values[1] = vec4(1);", "layout(location = 1) out vec4 values[2];")
    with pytest.raises(InvalidDispatch, match="location 3"):
        device.draw(three, SIZE, vertex=two)
    apart = vertex(
        "a = b = vec4(1); c = vec4(5);",
        "layout(location = 1) out vec4 a; layout(location = 2) out vec4 b; layout(location = 3) out vec4 c;",
    )
    assert (device.draw(three, SIZE, vertex=apart)["color"] == 5).all()


def test_attributes_and_varyings_over_the_limits_are_unsupported(vulkan_device: Device) -> None:
    attribute = vertex("gl_Position.x += p;", "layout(location = 40) in float p;")
    with lacks("maxVertexInputAttributes of 41"):
        vulkan_device.draw(WHITE, SIZE, vertex=attribute, vertices={"p": np.zeros(3, np.float32)})
    output = vertex("x = vec4(1);", "layout(location = 200) out vec4 x;")
    read = fragment("color = x;", "layout(location = 200) in vec4 x;")
    with lacks("maxVertexOutputComponents") as caught:
        vulkan_device.draw(read, SIZE, vertex=output)
    assert any("maxFragmentInputComponents of 804" in text for text in caught.value.missing)


def test_points_need_a_size(device: Device) -> None:
    with pytest.raises(InvalidDispatch, match="gl_PointSize"):
        device.draw(WHITE, SIZE, vertex=vertex(), state=DrawState(topology="points"))


def test_bindings_that_stages_declare_differently(device: Device) -> None:
    array = fragment("color = vec4(b[1].n);", "layout(binding = 0) readonly buffer B { float n; } b[2];")
    single = vertex("gl_Position.x += n;", "layout(binding = 0) readonly buffer B { float n; };")
    values = [np.zeros(1, np.float32), np.full(1, 3, np.float32)]
    assert (device.draw(array, SIZE, {0: values}, vertex=single)["color"] == 3).all()
    with pytest.raises(InvalidDispatch, match="2 descriptors"):
        device.draw(array, SIZE, {0: values[0]}, vertex=single)
    flat = vertex("gl_Position.x += textureLod(t, vec2(0), 0).x;", "layout(binding = 0) uniform sampler2D t;")
    deep = fragment("color = texture(t, vec3(0));", "layout(binding = 0) uniform sampler3D t;")
    with lacks("texture2D", "texture3D"):
        device.draw(deep, SIZE, {0: np.zeros((4, 4, 4), np.float32)}, vertex=flat)


# --- push and specialization constants -----------------------------------------------------------------

PUSHED = "layout(push_constant) uniform Push {{ {} }};"


def test_each_stage_has_its_push_constants(device: Device) -> None:
    moved = vertex("gl_Position.x += shift;", PUSHED.format("float shift;"))
    colored = fragment("color = tint;", PUSHED.format("layout(offset = 16) vec4 tint;"))
    tint = [1.0, 2.0, 3.0, 4.0]
    for push in ({"shift": 0.0, "tint": tint}, np.array([0, 0, 0, 0, *tint], np.float32)):
        found = device.draw(colored, SIZE, vertex=moved, push=push)["color"]
        assert np.array_equal(found[0, 0], tint)
    with pytest.raises(InvalidDispatch, match="shift"):
        device.draw(colored, SIZE, vertex=moved, push={"tint": tint})


@pytest.mark.parametrize("other", ["layout(offset = 8) float a;", "uint a;", "uint b;"])
def test_push_constants_that_contradict_each_other_are_given_as_bytes(device: Device, other: str) -> None:
    moved = vertex("gl_Position.x += a * 0.0;", PUSHED.format("float a;"))
    name = other.removesuffix(";")[-1]
    colored = fragment(f"color = vec4({name});", PUSHED.format(other))
    with pytest.raises(InvalidDispatch, match="as bytes"):
        device.draw(colored, SIZE, vertex=moved, push={"a": 1, "b": 1})
    push = np.full(3 if "offset" in other else 1, 7, np.uint32 if "uint" in other else np.float32).tobytes()
    assert (device.draw(colored, SIZE, vertex=moved, push=push)["color"] == 7).all()


SIZED = "layout(constant_id = 3) const int N = 2;"


@pytest.mark.parametrize("length", [0, -1])
def test_arrays_without_elements_are_refused(device: Device, length: int) -> None:
    body = "float a[N]; for (int i = 0; i < N; i++) a[i] = i; {} = {}(a[N - 1]);"
    with pytest.raises(InvalidDispatch, match=f"length {length}"):
        device.draw(fragment(body.format("color", "vec4"), SIZED), SIZE, specialization={3: length})
    source = f"""#version 450
{SIZED} layout(binding = 0) buffer B {{ float n; }};
void main() {{ {body.format("n", "float")} }}"""
    with pytest.raises(InvalidDispatch):
        device.run(source, 1, {"B": np.zeros(1, np.float32)}, specialization={3: length})
    assert (
        device.draw(fragment(body.format("color", "vec4"), SIZED), SIZE, specialization={3: 5})["color"] == 4
    ).all()


@pytest.mark.parametrize(
    "source",
    [
        fragment(
            "color = vec4(b[1].n);", f"{SIZED} layout(binding = 0) readonly buffer B {{ float n; }} b[N];"
        ),
        f"#version 450\n{SIZED} layout(location = 0) out vec4 b[N]; void main() {{ b[0] = vec4(1); }}",
    ],
)
def test_bindings_and_outputs_are_counted_in_the_shader(device: Device, source: str) -> None:
    bindings = {0: [np.ones(1, np.float32)] * 2} if "buffer" in source else {}
    device.draw(source, SIZE, bindings, specialization={3: 2})
    with lacks("specialization of the length of an interface"):
        device.draw(source, SIZE, bindings, specialization={3: 3})


# --- pipelines by themselves ---------------------------------------------------------------------------


def test_a_pipeline_is_made_of_modules_formats_and_a_state(device: Device) -> None:
    modules = device.compile(vertex(), stage="vertex"), device.compile(WHITE, stage="fragment")
    for made_of in ((*modules, None), ("x", "y", DrawFormats()), (None, None, DrawFormats())):
        with pytest.raises(InvalidDispatch, match="A graphics pipeline"):
            device.graphics_pipeline(*made_of)
    with pytest.raises(InvalidDispatch, match="state is a DrawState"):
        device.graphics_pipeline(*modules, DrawFormats(), None)
    attributes = (Attribute(0, "int", 1),)
    reading = device.compile(
        vertex("gl_Position.x += p;", "layout(location = 0) in float p;"), stage="vertex"
    )
    for formats in (DrawFormats(), DrawFormats(attributes=attributes)):
        with pytest.raises(InvalidDispatch, match="no attribute of its type at location 0"):
            device.graphics_pipeline(reading, modules[1], formats)
    with pytest.raises(InvalidDispatch, match="does not hold them"):
        device.graphics_pipeline(*modules, DrawFormats(colors=((0, FORMATS["Rgba32ui"]),)))


def test_a_pipeline_is_bound_to_what_it_was_made_for(device: Device) -> None:
    array = np.zeros((3, 1), np.float32)
    given = Vertices({0: array})
    reading = device.compile(
        vertex("gl_Position.x += p;", "layout(location = 0) in float p;"), stage="vertex"
    )
    module = device.compile(WHITE, stage="fragment")
    color = FORMATS["Rgba32f"]
    attachments = (Attachment("color", 0, color),)
    formats = DrawFormats(attributes=given.attributes, colors=((0, color),))
    with device.graphics_pipeline(reading, module, formats) as pipeline:
        with pipeline.bind({}, size=SIZE, vertices=given, attachments=attachments) as draws:
            draws.draw()
            assert (draws.results()["color"] == 1).all()
        wrong: list[dict[str, Any]] = [
            {"attachments": ()},
            {"attachments": attachments * 2},
            {"attachments": (Attachment("color", 0, FORMATS["Rgba8"]),)},
            {"attachments": (*attachments, Attachment("depth", None, FORMATS["D32f"]))},
            {"vertices": Vertices()},
            {"vertices": None},
            {"vertices": Vertices({0: array}, count=4)},
            {"vertices": Vertices({0: array}, instances=2**40)},
            {"vertices": Vertices({0: array}, indices=np.array([0, 1, 3], np.uint32))},
            {"vertices": Vertices({0: array}, count=4, indices=np.array([0, 1, 2], np.uint32))},
            {"size": (0, 4)},
            {"size": "44"},
        ]
        for change in wrong:
            with pytest.raises(InvalidDispatch):
                pipeline.bind({}, **{"size": SIZE, "vertices": given, "attachments": attachments, **change})
