"""Whole programs on images: atomics, races, undefined texels, textures chosen by each invocation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vkgroup.base.formats import FORMATS
from vkgroup.base.sampler import Sampler
from vkgroup.compiler import compile_source
from vkgroup.dispatch import Device
from vkgroup.reference.interpreter import Event, ExecutableShader, Memory, execute
from vkgroup.reference.interpreter.operations.images import ImageMemory, image_of
from vkgroup.reference.interpreter.values.value import HARD

HEAD = """#version 460
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 32) in;
layout(binding = 0, r32ui) uniform uimage2D picture;
layout(binding = 1) buffer Found { uint found[]; };
layout(binding = 2, r32ui) uniform uimageBuffer cells;
"""


def run(body: str, image: ImageMemory, *, races: bool = False) -> tuple[Memory, tuple[Event, ...]]:
    """Run one workgroup of 32; gives the memory of what it found, and what happened."""
    program = ExecutableShader(compile_source(f"{HEAD}void main() {{\n{body}\n}}", stage="compute"))
    result = Memory(np.zeros(32 * 4, np.uint8), "found")
    cells = ImageMemory(
        np.zeros(8 * 4, np.uint8), "cells", FORMATS["R32ui"], dimension="Buffer", extent=(8, 1, 1)
    )
    places = {(0, 0): [image], (0, 1): [result], (0, 2): [cells]}
    outcome = execute(program, (1, 1, 1), places, subgroup_size=8, races=races)
    return result, outcome.events


def picture(**how: Any) -> ImageMemory:
    return ImageMemory(np.zeros(32 * 4, np.uint8), "picture", FORMATS["R32ui"], extent=(8, 4, 1), **how)


AT = "uint i = gl_LocalInvocationIndex; ivec2 at = ivec2(i % 8, i / 8);"


def test_atomics_count_on_texels() -> None:
    image = picture()
    result, events = run(f"{AT} found[i] = imageAtomicAdd(picture, at / 2, i);", image, races=True)
    assert events == ()
    found_before = result.data.view(np.uint32)
    for y, x in np.ndindex(2, 4):
        here = [i for i in range(32) if (i // 16, i % 8 // 2) == (y, x)]
        total = 0
        for i in sorted(here, key=lambda i: (found_before[i], i)):
            assert found_before[i] == total
            total += i
        assert image.texels()[0, 0, y, x, 0] == total


@pytest.mark.parametrize(
    ("body", "race"),
    [
        ("imageStore(picture, at, uvec4(i)); found[i] = imageLoad(picture, at).x;", False),
        ("imageStore(picture, at / 2, uvec4(i));", True),
        ("imageStore(picture, at, uvec4(i)); found[i] = imageLoad(picture, ivec2(7, 3) - at).x;", True),
        (
            "imageStore(picture, at, uvec4(i)); memoryBarrierImage(); barrier(); memoryBarrierImage();"
            " found[i] = imageLoad(picture, ivec2(7, 3) - at).x;",
            False,
        ),
        ("imageAtomicMax(picture, ivec2(0), i);", False),
        ("imageStore(cells, int(i / 8), uvec4(i));", True),
    ],
)
def test_races_on_texels(body: str, race: bool) -> None:
    _, events = run(f"{AT} {body}", picture(), races=True)
    assert [event.kind for event in events] == (["race"] if race else [])


def test_unwritten_texels_are_undefined() -> None:
    image = picture(defined=False)
    body = f"{AT} if (i < 16) imageStore(picture, at, uvec4(i)); found[i] = imageLoad(picture, at).x;"
    result, _ = run(body, image)
    assert result.data.view(np.uint32)[:16].tolist() == list(range(16))
    assert result.causes is not None
    assert (result.causes >= HARD).tolist() == [False] * 16 + [True] * 16


def test_places_outside_are_named() -> None:
    result, events = run(f"{AT} found[i] = imageLoad(picture, at + ivec2(0, 2)).x;", picture())
    assert [(event.kind, event.memory) for event in events if event.kind == "bounds"] == [
        ("bounds", "picture")
    ]
    assert not result.data[64:].any()


def test_each_invocation_chooses_its_texture() -> None:
    source = """#version 460
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 32) in;
layout(binding = 0) uniform sampler2D pictures[3];
layout(binding = 1) buffer Found { float found[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    found[i] = textureLod(pictures[nonuniformEXT(i % 3)], vec2(0.5), 0.0).x;
    found[i] += texelFetch(pictures[1], ivec2(0), 0).x;
}"""
    program = ExecutableShader(compile_source(source, stage="compute"))
    pictures = [image_of([np.full((1, 1), n, np.float32)], "picture", FORMATS["R32f"]) for n in range(3)]
    result = Memory(np.zeros(32 * 4, np.uint8), "found")
    places = {(0, 0): [(image, Sampler()) for image in pictures], (0, 1): [result]}
    assert execute(program, (1, 1, 1), places).events == ()
    assert result.data.view(np.float32).tolist() == [n % 3 + 1 for n in range(32)]


def test_textures_chosen_by_each_invocation_on_devices(device: Device) -> None:
    source = """#version 460
layout(local_size_x = 4) in;
layout(binding = 0, r32ui) uniform uimage2D pictures[2];
void main() {
    ivec2 at = ivec2(gl_LocalInvocationID.x & 1, gl_LocalInvocationID.x >> 1);
    imageStore(pictures[0], at, imageLoad(pictures[1], at.yx) + 1u);
}"""
    texels = np.arange(4, dtype=np.uint32).reshape(2, 2)
    result = device.run(source, 1, {"pictures": [np.zeros_like(texels), texels]})["pictures"]
    assert np.array_equal(result[0], texels.T + 1)
    assert np.array_equal(result[1], texels)
