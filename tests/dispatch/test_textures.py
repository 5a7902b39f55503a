"""Sampled images, samplers, texel buffers and addresses: what may be bound, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import lacks

from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.base.sampler import Sampler
from vkgroup.dispatch import Device

PICTURE = """#version 460
layout(local_size_x = 4) in;
layout(binding = 0) uniform {kind} picture;
layout(binding = 1) writeonly buffer Found {{ vec4 found[]; }};
void main() {{
    uint i = gl_LocalInvocationID.x;
    vec2 at = (vec2(i & 1, i >> 1) + 0.5) / 2.0;
    found[i] = vec4({call});
}}"""

FOUND = np.zeros((4, 4), np.float32)
SQUARE = np.array([[0.25, 0.5], [0.75, 1.0]], np.float32)


def sample(device: Device, picture: Any, kind: str = "sampler2D", call: str = "texture(picture, at)") -> Any:
    result = device.run(PICTURE.format(kind=kind, call=call), 1, {"picture": picture, "found": FOUND})
    return result["found"][:, 0].tolist()


def test_an_array_is_sampled_at_the_nearest_texel(device: Device) -> None:
    assert sample(device, SQUARE) == [0.25, 0.5, 0.75, 1.0]


def test_bytes_are_normalized_where_floats_are_read(device: Device) -> None:
    assert sample(device, np.array([[0, 255], [51, 102]], np.uint8)) == pytest.approx([0, 1, 0.2, 0.4])
    assert sample(device, np.array([[0, 127], [-127, -128]], np.int8)) == [0, 1, -1, -1]
    assert sample(device, np.array([[0, 255], [51, 102]], np.uint8), "usampler2D") == [0, 255, 51, 102]


def test_a_sampler_comes_with_its_image(device: Device) -> None:
    middle = "texture(picture, vec2(0.5))"
    linear = device.sampler(filter="linear")
    assert sample(device, (SQUARE, linear), call=middle) == pytest.approx([0.625] * 4)
    with device.image(SQUARE, sampled=True) as image:
        assert sample(device, (image, linear), call=middle) == pytest.approx([0.625] * 4)
        assert sample(device, image) == [0.25, 0.5, 0.75, 1.0]


def test_shadow_samplers_compare_with_less_or_equal(device: Device) -> None:
    call = "texture(picture, vec3(at, 0.5))"
    assert sample(device, SQUARE, "sampler2DShadow", call) == [0, 1, 1, 1]
    assert sample(device, (SQUARE, Sampler(compare="greater")), "sampler2DShadow", call) == [1, 0, 0, 0]


def test_images_and_samplers_apart_and_in_arrays(device: Device) -> None:
    source = """#version 460
layout(local_size_x = 4) in;
layout(set = 1, binding = 0) uniform texture2D images[2];
layout(set = 1, binding = 3) uniform sampler ways[2];
layout(binding = 1) writeonly buffer Found { float found[]; };
void main() {
    uint i = gl_LocalInvocationID.x;
    found[i] = i < 2 ? texture(sampler2D(images[0], ways[0]), vec2(i == 0 ? -0.1 : 0.5, 0.5)).x
                     : texture(sampler2D(images[1], ways[1]), vec2(i == 2 ? -0.1 : 0.5, 0.5)).x;
}"""
    row = np.array([[1.0, 2.0, 4.0, 8.0]], np.float32)
    ways = [Sampler(address="repeat"), Sampler("linear", address="clamp_to_border")]
    bindings = {"images": [row, row * 10], "ways": ways, "found": np.zeros(4, np.float32)}
    found = device.run(source, 1, bindings)["found"]
    assert found[:2].tolist() == [8, 4]
    assert found[2:] == pytest.approx([1, 30], abs=0.2)


def test_levels_are_written_read_and_fetched(device: Device) -> None:
    levels = [np.arange(size * size, dtype=np.float32).reshape(size, size) for size in (4, 2, 1)]
    with device.image(levels[0], levels=levels[1:], sampled=True) as image:
        assert image.levels == 3
        for number, level in enumerate(levels):
            assert np.array_equal(image.read(number), level)
        image.write(levels[1] + 10, 1)
        assert sample(device, image, call="texelFetch(picture, ivec2(i & 1, i >> 1), 1)") == [10, 11, 12, 13]
        with pytest.raises(InvalidDispatch, match="levels 0 to 2; 3 was given"):
            image.read(3)
        with pytest.raises(InvalidDispatch, match=r"shape \(2, 2\)"):
            image.write(levels[0], 1)


def test_one_image_is_stored_to_and_sampled(device: Device) -> None:
    fill = """#version 460
layout(local_size_x = 2, local_size_y = 2) in;
layout(binding = 0, rgba8) uniform writeonly image2D picture;
void main() { imageStore(picture, ivec2(gl_LocalInvocationID.xy), vec4(gl_LocalInvocationID.y)); }"""
    with device.image(np.zeros((2, 2, 4), np.uint8), format="rgba8") as image:
        device.run(fill, 1, {"picture": image})
        assert sample(device, image) == [0, 0, 1, 1]


def test_cubes(device: Device) -> None:
    faces = np.arange(6, dtype=np.float32).reshape(6, 1, 1)
    call = "texture(picture, vec3(i == 0 ? 1 : 0, i == 1 ? -1 : 0, i > 1 ? 1 - 2 * int(i & 1) : 0))"
    assert sample(device, faces, "samplerCube", call) == [0, 3, 4, 5]
    for shape in ((5, 1, 1), (6, 1, 2)):
        with pytest.raises(InvalidDispatch, match="6 square faces"):
            sample(device, np.zeros(shape, np.float32), "samplerCube", call)


@pytest.mark.parametrize(
    ("picture", "kind", "reason"),
    [
        (Sampler(), "sampler2D", r"give \(image, sampler\)"),
        (np.zeros((2, 2)), "sampler2D", "no image format that texture2D reads has 1 components of float64"),
        (np.zeros((2, 2), np.int32), "usampler2D", "no image format that utexture2D reads"),
        ((SQUARE, Sampler(compare="less")), "sampler2D", "compares nothing"),
        ((SQUARE, Sampler()), "sampler2DShadow", "compares depths"),
        ((SQUARE.astype(np.int32), Sampler("linear")), "isampler2D", "filter='nearest'"),
        (
            (SQUARE, Sampler(address="clamp_to_border", border_color="int_opaque_white")),
            "sampler2D",
            "'float_'",
        ),
        ((SQUARE[0], Sampler(unnormalized=True)), "sampler1D", None),
        ((SQUARE[None], Sampler(unnormalized=True)), "sampler2DArray", "images of one level"),
    ],
)
def test_what_does_not_fit_is_refused(device: Device, picture: Any, kind: str, reason: str | None) -> None:
    at = {"1D": "at.x", "2D": "at", "2DShadow": "vec3(at, 0)", "2DArray": "vec3(at, 0)"}[
        kind.split("sampler")[1]
    ]
    call = f"textureLod(picture, {at}, 0)" if "Shadow" not in kind else f"texture(picture, {at})"
    if reason is None:
        assert sample(device, picture, kind, call) == [0.25, 0.25, 0.25, 0.25]
        return
    with pytest.raises(InvalidDispatch, match=reason):
        sample(device, picture, kind, call)


def test_images_of_another_kind_are_refused(device: Device) -> None:
    with device.image(np.zeros((2, 2), np.uint32)) as image:
        with pytest.raises(InvalidDispatch, match="format R32ui"):
            sample(device, image)
        with pytest.raises(InvalidDispatch, match="is a utexture3D; a 2D image is given"):
            sample(device, image, "usampler3D", "texture(picture, vec3(0))")
    with device.image(SQUARE, format="d32f", sampled=True) as depths:
        fill = """#version 460
layout(binding = 0, r32f) uniform image2D p;
void main() { imageStore(p, ivec2(0), vec4(0)); }"""
        with pytest.raises(InvalidDispatch, match="the image given has D32f"):
            device.run(fill, 1, {"p": depths})


APART = """#version 460
layout(binding = 0) uniform texture2D t;
layout(binding = 1) uniform sampler s;
layout(binding = 2) buffer B { vec4 b; };
void main() { b = texture(sampler2D(t, s), vec2(0)); }"""


def test_samplers_are_checked_by_the_device(device: Device) -> None:
    with pytest.raises(InvalidDispatch, match="A sampler has no attribute 'filtr'"):
        device.sampler(filtr="linear")
    with pytest.raises(InvalidDispatch, match="is a sampler; give a vkgroup"):
        device.run(APART, 1, {"t": SQUARE, "s": SQUARE, "B": np.zeros(4, np.float32)})
    with pytest.raises(InvalidDispatch, match="at most 2 levels; 3 are given"):
        device.image(SQUARE, levels=[SQUARE[:1, :1]] * 2)


# --- texel buffers ------------------------------------------------------------------------------------

DOUBLE = """#version 460
layout(local_size_x = 4) in;
layout(binding = 0) uniform samplerBuffer given;
layout(binding = 1, rgba32f) uniform imageBuffer target;
void main() {
    int i = int(gl_LocalInvocationID.x);
    imageStore(target, i, imageLoad(target, i) + 2.0 * texelFetch(given, i));
}"""


def test_arrays_and_buffers_are_texels(device: Device) -> None:
    texels = np.arange(16, dtype=np.float32).reshape(4, 4)
    found = device.run(DOUBLE, 1, {"given": texels, "target": texels})
    assert np.array_equal(found["target"], 3 * texels)
    with device.buffer(texels) as given, device.buffer(texels.nbytes) as target:
        target.write(texels)
        for _ in range(2):
            device.run(DOUBLE, 1, {"given": given, "target": target})
        assert np.array_equal(target.read(np.float32, (4, 4)), 5 * texels)


def test_bytes_of_texel_buffers_are_normalized(device: Device) -> None:
    given = np.array([[0, 255, 51, 102]] * 4, np.uint8)
    found = device.run(DOUBLE, 1, {"given": given, "target": np.zeros((4, 4), np.float32)})["target"]
    assert found[0] == pytest.approx([0, 2, 0.4, 0.8])


def test_texel_buffers_that_do_not_fit_are_refused(device: Device) -> None:
    texels = np.zeros((4, 4), np.float32)
    with pytest.raises(InvalidDispatch, match="1 components of int32"):
        device.run(DOUBLE, 1, {"given": np.zeros(4, np.int32), "target": texels})
    with pytest.raises(InvalidDispatch, match=r"16 bytes .*; 20 bytes"):
        device.run(DOUBLE, 1, {"given": texels, "target": texels.reshape(-1)[:5]})
    with (
        device.image(texels) as image,
        pytest.raises(InvalidDispatch, match="storage texel buffer; image given"),
    ):
        device.run(DOUBLE, 1, {"given": texels, "target": image})


# --- addresses ----------------------------------------------------------------------------------------

FOLLOW = """#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 4) in;
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Node { uint values[4]; Node next; };
layout(push_constant) uniform Start { Node first; };
void main() {
    uint i = gl_LocalInvocationID.x;
    first.next.values[i] = 10 * first.values[i] + i;
}"""


def test_shaders_follow_addresses(device: Device) -> None:
    node = np.dtype([("values", np.uint32, 4), ("next", np.uint64)])
    second = device.buffer(np.zeros(1, node))
    assert second.address == second.address
    assert second.address % 16 == 0
    first = device.buffer(np.array([([1, 2, 3, 4], second.address)], node))
    assert first.address not in range(second.address, second.address + second.nbytes)
    device.run(FOLLOW, 1, {}, push={"first": first.address})
    assert second.read()["values"].tolist() == [[10, 21, 32, 43]]
    first.close()
    with pytest.raises(DriverError, match="closed"):
        _ = first.address
    second.close()


def test_devices_without_addresses_say_so(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    with device.buffer(16) as buffer:
        without = replace(
            device.capabilities, features=device.capabilities.features - {"bufferDeviceAddress"}
        )
        monkeypatch.setattr(buffer.device, "capabilities", without)
        with lacks("bufferDeviceAddress") as caught:
            _ = buffer.address
        assert caught.value.missing == ("bufferDeviceAddress",)
