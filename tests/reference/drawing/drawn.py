"""Draws on the reference device, for the tests in this folder."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import vkgroup
from vkgroup.base.formats import find
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.dispatch import Device
from vkgroup.reference.drawing import ColorTarget, Draw, DrawResult, VertexData, draw
from vkgroup.reference.interpreter import ExecutableShader, Memory
from vkgroup.reference.interpreter.operations.images import ImageMemory

HEADER = "#version 460\n"
FULL_SCREEN = """
void main() {
    gl_Position = vec4(vec2[](vec2(-1, -1), vec2(3, -1), vec2(-1, 3))[gl_VertexIndex], 0, 1);
}"""


@cache
def reference(subgroup_size: int = 8) -> Device:
    return vkgroup.open("reference", subgroup_size=subgroup_size)


def triangles(*corners: Any, depth: float = 0.0) -> np.ndarray:
    """Vertices (n, 4) in clip coordinates, from pairs or triples."""
    array = np.array(corners, np.float32)
    if array.shape[1] == 2:
        array = np.column_stack([array, np.full(len(array), depth, np.float32)])
    return np.column_stack([array, np.ones(len(array), np.float32)]).astype(np.float32)


def in_pixels(places: Any, size: tuple[int, int], depth: float = 0.0) -> np.ndarray:
    """Vertices at places in pixels: exact where the size is a power of two."""
    array = np.asarray(places, np.float64)
    return triangles(*(array / np.array(size) * 2 - 1).astype(np.float32), depth=depth)


@cache
def program(
    source: str, stage: str, target: TargetEnvironment = TargetEnvironment.VULKAN_1_2
) -> ExecutableShader:
    return ExecutableShader(compile_source(HEADER + source, stage=stage, target=target, debug=True))


def lanes(
    source: str,
    size: tuple[int, int],
    *arrays: np.ndarray,
    positions: np.ndarray | None = None,
    target: TargetEnvironment = TargetEnvironment.VULKAN_1_2,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray, DrawResult]:
    """Draw with one uvec4 output; bindings 0, 1, … are `arrays`, which it changes.

    Returns the pixels (height, width, 4), their causes, and what the draw says.
    """
    width, height = size
    image = ImageMemory(np.zeros(width * height * 16, np.uint8), "color", find("rgba32ui"), extent=(*size, 1))
    vertex, data = FULL_SCREEN, VertexData({}, 3)
    if positions is not None:
        vertex = "layout(location = 0) in vec4 position; void main() { gl_Position = position; }"
        data = VertexData({0: positions}, len(positions))
    memories = {(0, n): [Memory(array.reshape(-1).view(np.uint8), f"{n}")] for n, array in enumerate(arrays)}
    outcome = draw(
        program(vertex, "vertex"),
        program(source, "fragment", target),
        Draw(size, data, options.pop("topology", "triangles"), [ColorTarget(0, image)]),
        memories,
        **options,
    )
    causes = np.zeros(width * height * 4, np.uint16) if image.causes is None else image.causes
    return (
        image.view(np.dtype(np.uint32)).reshape(height, width, 4),
        causes.reshape(height, width, 4),
        outcome,
    )
