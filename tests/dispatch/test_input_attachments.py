"""Input attachments: images, and arrays of them, that fragment shaders read at their own pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import lacks

import vkgroup
from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.formats import FORMATS
from vkgroup.dispatch import Device
from vkgroup.dispatch.attachments import Attachment
from vkgroup.dispatch.draw_state import DrawFormats, inputs_of
from vkgroup.dispatch.vertices import Vertices

SIZE = (8, 4)

SOURCE = """#version 450
layout(input_attachment_index = 1, binding = 2) uniform usubpassInput several[3];
layout(input_attachment_index = 0, binding = 1) uniform subpassInput one;
layout(location = 0) out uint color;
void main() {
    uint column = uint(gl_FragCoord.x) % 3u;
    uint found = column == 0u ? subpassLoad(several[0]).x
               : column == 1u ? subpassLoad(several[1]).x : subpassLoad(several[2]).x;
    color = found + uint(subpassLoad(one).x);
}"""

VERTEX = """#version 450
void main() {
    gl_Position = vec4(vec2[](vec2(-1.0, -1.0), vec2(3.0, -1.0), vec2(-1.0, 3.0))[gl_VertexIndex], 0.0, 1.0);
}"""

ONE = np.full((4, 8), 1000.0, np.float32)
SEVERAL = [np.arange(32, dtype=np.uint32).reshape(4, 8) + 100 * number for number in range(3)]
EXPECTED = np.choose(np.arange(8)[None, :] % 3, SEVERAL) + 1000


def test_they_are_read_at_the_own_pixel(vulkan_device: Device) -> None:
    found = vulkan_device.draw(SOURCE, SIZE, {"several": SEVERAL, "one": ONE})["color"]
    assert np.array_equal(found, EXPECTED)


def test_images_that_were_drawn_to_can_be_read(vulkan_device: Device) -> None:
    drawn = (
        "#version 450\nlayout(location = 0) out float color; void main() { color = gl_FragCoord.x * 2.0; }"
    )
    read = """#version 450
layout(input_attachment_index = 0, binding = 0) uniform subpassInput before;
layout(location = 0) out float color;
void main() { color = subpassLoad(before).x + 100.0; }"""
    with vulkan_device.image(np.zeros((4, 8), np.float32)) as image:
        vulkan_device.draw(drawn, SIZE, colors={"color": image})
        found = vulkan_device.draw(read, SIZE, {"before": image})["color"]
    assert np.array_equal(found, np.broadcast_to(np.arange(8) * 2.0 + 101.0, (4, 8)))


def test_one_pipeline_draws_many_times(vulkan_device: Device) -> None:
    """A pipeline's state names the formats; another image of them can be bound each time."""
    vertex = vulkan_device.compile(VERTEX, stage="vertex")
    fragment = vulkan_device.compile(SOURCE, stage="fragment")
    color = Attachment("color", 0, FORMATS["R32ui"])
    inputs = inputs_of(fragment, {"several": SEVERAL, "one": ONE})
    assert [item.index for item in inputs] == [0, 1, 2, 3]
    formats = DrawFormats(colors=((0, color.format),), inputs=inputs)
    with vulkan_device.graphics_pipeline(vertex, fragment, formats) as pipeline:
        for more in (0, 7):
            bindings = {"several": [array + more for array in SEVERAL], "one": ONE}
            with pipeline.bind(bindings, size=SIZE, vertices=Vertices(), attachments=(color,)) as draws:
                draws.draw()
                assert np.array_equal(draws.results()["color"], EXPECTED + more)
        other = {"several": SEVERAL, "one": np.zeros((4, 8, 4), np.float32)}
        with pytest.raises(InvalidDispatch, match="made for another"):
            pipeline.bind(other, size=SIZE, vertices=Vertices(), attachments=(color,))
    with pytest.raises(InvalidDispatch, match=r"\[0, 1, 2, 3\]"):
        vulkan_device.graphics_pipeline(vertex, fragment, DrawFormats(colors=((0, color.format),)))


@pytest.mark.parametrize(
    ("bindings", "words"),
    [
        ({"several": [array[:2] for array in SEVERAL], "one": ONE}, "images of the draw's size"),
        ({"several": SEVERAL[:2], "one": ONE}, "3 descriptors"),
        ({"several": SEVERAL, "one": ONE.astype(np.float64)}, "no image format"),
        ({"one": ONE}, "No array or buffer|reads the input attachments"),
    ],
)
def test_what_does_not_fit(vulkan_device: Device, bindings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        vulkan_device.draw(SOURCE, SIZE, bindings)


def test_an_image_is_not_read_and_drawn_to_at_once(vulkan_device: Device) -> None:
    source = SOURCE.replace("out uint color", "out float color").replace(
        "color = found", "color = 0.0; found"
    )
    with vulkan_device.image(ONE) as image, pytest.raises(InvalidDispatch):
        vulkan_device.draw(source, SIZE, {"several": SEVERAL, "one": image}, colors={"color": image})


def test_the_reference_device_has_none() -> None:
    with vkgroup.open("reference") as device, lacks("InputAttachments"):
        device.draw(SOURCE, SIZE, {"several": SEVERAL, "one": ONE})
