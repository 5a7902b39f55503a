"""Draws on drivers against the reference device: equal arrays wherever the reference is defined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn import in_pixels, reference

from vkgroup.dispatch import Device, DrawState
from vkgroup.reference.drawing.coverage import sample_locations
from vkgroup.reference.drawing.shapes import assemble

SIZE = (32, 16)

PRIMITIVE = """#version 450
layout(location = 0) flat in uint number;
layout(location = 0) out uvec2 color;
void main() { color = uvec2(number, 1u + uint(gl_FrontFacing)); }"""


def random_places(seed: int, count: int) -> np.ndarray:
    """Places in the image, which nothing clips, on a grid of 1/16 pixel, which every device keeps."""
    return np.random.default_rng(seed).integers((0, 0), (513, 257), (count, 2)) / 16


def clear_of_edges(device: Device, places: np.ndarray, samples: int) -> np.ndarray:
    """Return the samples whose distance from every edge exceeds the error that a device may have.

    Parameters
    ----------
    places : corners in pixels, (primitives, 2 or 3, 2).

    Returns
    -------
    (height, width, samples)
    """
    margin = 2.0 ** -device.capabilities.limits["subPixelPrecisionBits"]
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    result = np.ones((SIZE[1], SIZE[0], samples), bool)
    for number, (dx, dy) in enumerate(sample_locations(samples)):
        for corners in places:
            for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
                along = b - a
                cross = along[0] * (y + dy - a[1]) - along[1] * (x + dx - a[0])
                result[..., number] &= np.abs(cross) > margin * max(np.hypot(*along), 1.0)
    return result


def same(
    device: Device, *arguments: Any, clear: np.ndarray | None = None, **options: Any
) -> dict[Any, np.ndarray]:
    """Draw on both devices, compare what is defined, and return what the reference device has.

    `clear` says for which pixels, or samples of pixels, to compare; None for all.
    """
    expected = reference(device.capabilities.subgroup.size).draw(*arguments, **options)
    result = device.draw(*arguments, **options)
    assert sorted(map(str, result)) == sorted(map(str, expected))
    assert expected.ordered is not None
    for key, array in expected.items():
        assert result[key].dtype == array.dtype
        known = expected.ordered[key].copy()
        if clear is not None:
            known[~clear] = False
        assert known.any()
        assert np.array_equal(result[key][known], array[known]), key
    return {**expected, "events": expected.events}


@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize("topology", ["triangles", "triangle_strip", "triangle_fan"])
def test_triangles_cover_the_same_samples(vulkan_device: Device, topology: str, samples: int) -> None:
    for seed in range(4):
        places = random_places(seed, 9)
        clear = clear_of_edges(vulkan_device, places[assemble(topology, 9)], samples)
        assert clear.mean() > 0.5
        result = same(
            vulkan_device,
            PRIMITIVE,
            SIZE,
            clear=clear if samples > 1 else clear[..., 0],
            vertices={"position": in_pixels(places, SIZE), "number": np.arange(1, 10, dtype=np.uint32)},
            state=DrawState(topology=topology, samples=samples, resolve=False),
        )
        assert len(np.unique(result["color"])) > 3


def test_depths_decide_in_the_same_way(vulkan_device: Device) -> None:
    """Two planes that cross: depth runs one way in one and the other way in the other."""
    corners = np.array([[-1, -1], [3, -1], [-1, 3]], np.float32)
    depths = np.array([[0, 2, 0], [1, -1, 1]], np.float32)
    places = np.concatenate([np.column_stack([corners, z, np.ones(3)]) for z in depths]).astype(np.float32)
    for compare in ("less", "greater", "always"):
        result = same(
            vulkan_device,
            PRIMITIVE,
            SIZE,
            vertices={"position": places, "number": np.array([1, 1, 1, 2, 2, 2], np.uint32)},
            depth="d32f",
            state=DrawState(depth_compare=compare),
        )
        assert len(np.unique(result["color"][..., 0])) == (1 if compare == "always" else 2)


LINEAR = """#version 450
#extension GL_KHR_shader_subgroup_quad : require
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 color;
layout(location = 1) out uvec4 quad;
void main() {
    float slope = 3.0 * place.x - 5.0 * place.y;
    color = vec4(place, dFdx(slope), dFdy(slope));
    uint at = uint(gl_FragCoord.x) + 64u * uint(gl_FragCoord.y);
    quad = uvec4(subgroupQuadSwapHorizontal(at), subgroupQuadSwapVertical(at), subgroupQuadSwapDiagonal(at),
                 subgroupQuadBroadcast(at, 2u));
}"""


def test_derivatives_of_linear_functions_and_quads(vulkan_device: Device) -> None:
    values = np.array([[0, 0], [2 * SIZE[0], 0], [0, 2 * SIZE[1]]], np.float32)
    result = same(vulkan_device, LINEAR, SIZE, vertices={"place": values})
    assert (result["color"][..., 2:] == (3, -5)).all()
    assert result["events"] == ()


# Triangles with no pixel's center within 1/16 pixel of an edge, so that all devices cover the same.
FIRST = [(26.5625, 11.8125), (21.4375, 6.625), (5.375, 12.0)]
SECOND = [(28.3125, 1.625), (18.8125, 15.625), (11.8125, 1.875)]

HELPING = """#version 450
#extension GL_KHR_shader_subgroup_quad : require
layout(binding = 0) buffer Data { uint stored[512]; uint added; };
layout(location = 0) out uvec4 color;
void main() {
    uint at = uint(gl_FragCoord.x) + 32u * uint(gl_FragCoord.y);
    uint helper = uint(gl_HelperInvocation);
    atomicAdd(added, 1u);
    stored[at] = 1u;
    uint other = subgroupQuadSwapHorizontal(helper) | subgroupQuadSwapVertical(helper) << 1
        | subgroupQuadSwapDiagonal(helper) << 2;
    color = uvec4(1u, helper, other, uint(dFdx(gl_FragCoord.x)));
    %s
}"""


@pytest.mark.parametrize("ending", ["", "if ((at & 3u) == 1u) discard;"])
def test_helpers_fill_quads_and_store_nothing(vulkan_device: Device, ending: str) -> None:
    for places in (FIRST, SECOND):
        assert clear_of_edges(vulkan_device, np.array([places]), 1).all()
        result = same(
            vulkan_device,
            HELPING % ending,
            SIZE,
            {0: np.zeros(513, np.uint32)},
            vertices={"position": in_pixels(places, SIZE)},
        )
        assert result["Data"][512] == result["Data"][:512].sum()
        assert len(np.unique(result["color"][..., 2])) > 1


SAMPLED = """#version 450
layout(location = 0) out uvec4 color;
void main() {
    color = uvec4(1 + gl_SampleID, uvec2(fract(gl_FragCoord.xy) * 16.0), gl_SampleMaskIn[0]);
}"""


def test_each_sample_is_shaded_where_it_lies(vulkan_device: Device) -> None:
    places = random_places(1, 6)
    same(
        vulkan_device,
        SAMPLED,
        SIZE,
        clear=clear_of_edges(vulkan_device, places.reshape(2, 3, 2), 4),
        vertices={"position": in_pixels(places, SIZE)},
        state=DrawState(samples=4, resolve=False),
    )


OUTPUTS = """#version 450
layout(location = 0) out vec4 plain;
layout(location = 1) out vec4 bytes;
layout(location = 2) out ivec4 signed_;
layout(location = 3) out uint bits;
void main() {
    vec2 at = floor(gl_FragCoord.xy);
    plain = vec4(at, gl_FragCoord.z, gl_FragCoord.w);
    bytes = vec4(at.x / 51.0, at.y / 15.0, 7.0, -7.0);
    signed_ = ivec4(-at, at * 1000.0);
    bits = 0x80000000u + uint(at.x);
}"""


def test_colors_of_every_kind(vulkan_device: Device) -> None:
    same(vulkan_device, OUTPUTS, SIZE, colors={"bytes": "rgba8", "signed_": "rgba16i", "bits": "r32ui"})


TEXTURED = """#version 450
layout(binding = 0) uniform sampler2D picture;
layout(push_constant) uniform Push { float scale; };
layout(location = 0) out vec4 color;
void main() { color = texture(picture, gl_FragCoord.xy * scale / 64.0); }"""


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0, 8.0])
def test_implicit_levels_of_detail(vulkan_device: Device, scale: float) -> None:
    pictures = [np.full((64 >> level, 64 >> level), level, np.float32) for level in range(5)]
    result = []
    for device in (vulkan_device, reference()):
        image = device.image(pictures[0], levels=pictures[1:], sampled=True)
        sampler = device.sampler(filter="nearest", mipmap="nearest", address="repeat")
        result.append(
            device.draw(TEXTURED, SIZE, {"picture": (image, sampler)}, push={"scale": scale})["color"]
        )
    assert np.array_equal(*result)
    assert (result[0][..., 0] == max(0.0, np.log2(scale))).all()


VERTEX = """#version 450
layout(location = 0) in vec2 place;
layout(binding = 0) buffer Data { uvec2 data[12]; };
layout(location = 0) flat out uvec2 who;
void main() {
    who = uvec2(gl_VertexIndex, gl_InstanceIndex);
    data[gl_InstanceIndex * 6 + gl_VertexIndex] = who + 1u;
    gl_PointSize = 1.0;
    gl_Position = vec4(place + vec2(0.125 * float(gl_InstanceIndex), 0.0), 0.5, 1.0);
}"""
WHO = """#version 450
layout(location = 0) flat in uvec2 who;
layout(location = 0) out uvec4 color;
void main() { color = uvec4(who, gl_FragCoord.xy); }"""


@pytest.mark.parametrize("topology", ["triangles", "points", "lines"])
def test_vertices_indices_and_instances(vulkan_device: Device, topology: str) -> None:
    places = np.array([*FIRST, *SECOND])
    if topology == "lines":
        # Along rows and columns: a slanted rectangle of width 1 has no edges that devices keep exactly.
        places = np.array([(2, 3.5), (30, 3.5), (5.5, 1), (5.5, 12), (8, 2.5), (20, 2.5)])
    same(
        vulkan_device,
        WHO,
        SIZE,
        {"data": np.zeros((12, 2), np.uint32)},
        vertex=VERTEX,
        vertices={"place": in_pixels(places, SIZE)[:, :2]},
        indices=[5, 4, 3, 0, 1, 2],
        instances=2,
        state=DrawState(topology=topology),
    )
