"""The scene that checks draw: two triangles with slanted edges, and generated inputs of the fragment shader.

The triangles cover a part of a target of odd width and height. Therefore quads at all edges, also at the
common edge, have helper invocations, and the last subgroup of a primitive is partial. The triangles do not
overlap: each pixel has at most one fragment that is no helper invocation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.check.fields import interface_name
from vkgroup.compiler import compile_source
from vkgroup.reference.drawing import VertexData
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import EntryPoint, ScalarType, StageVariable, VectorType

DEFAULT_SIZE = (15, 9)
"""Width and height of the target in pixels."""

MAX_PIXELS = 1 << 16
"""Maximum number of pixels of the target, which limits time and memory."""

_CORNERS = np.array([[-1, -0.75], [0.875, -1], [-0.75, 1], [1, 0.875]])
"""Corners in clip coordinates. They are multiples of 1/8, so that no coordinate is rounded."""

_TRIANGLES = np.array([0, 1, 2, 1, 3, 2])
_FLAT_VALUES = 8
_SLANT = 0.25
_GRADIENT_BITS = 3


@dataclass(frozen=True)
class CheckedScene:
    """A draw without the fragment shader."""

    size: tuple[int, int]  # width and height of the target in pixels
    vertex: ExecutableShader  # the generated vertex shader
    vertices: VertexData  # positions and values of the fragment shader's inputs
    inputs: tuple[str, ...]  # a description of each generated input


def make_scene(fragment: EntryPoint, size: tuple[int, int], seed: int) -> CheckedScene:
    """Return the scene for a fragment shader.

    Floats are linear in x and y, from 0 to 1, and exact: their derivatives are equal in all fragments.
    Lines of equal values are slanted, so that a comparison of a float with a constant diverges within quads.
    Flat inputs are random, one value for each triangle: floats from 0 to 1, integers from 0 to 7.

    Raises
    ------
    InvalidInput
        The target is empty or too large.
    Unsupported
        An input is no scalar or vector of 32 bits.
    """
    width, height = size
    if min(size) < 1 or width * height > MAX_PIXELS:
        raise InvalidInput(f"The size {width}x{height} is invalid: check draws 1 to {MAX_PIXELS} pixels.")
    clip = _CORNERS[_TRIANGLES]
    pixels = (clip + 1) / 2 * size
    ramps = np.stack([_ramp(pixels, 0), _ramp(pixels, 1)], axis=1)
    random = np.random.default_rng(seed)
    values = {}
    origins = []
    for item in fragment.variables.inputs:
        scalar = _scalar_of(item)
        components = [_component(item, scalar, number, ramps, random) for number in range(item.components)]
        values[item.location] = np.stack(components, axis=1).astype(scalar.dtype)
        flat = "random, one value for each triangle" if item.interpolation == "flat" else "0 to 1, linear"
        origins.append(f"input {interface_name(item.name) or item.location}: {flat}")
    positions = np.concatenate([clip, np.zeros((len(clip), 1)), np.ones((len(clip), 1))], axis=1)
    free = 1 + max(values, default=-1)
    attributes = {**values, free: positions.astype(np.float32)}
    vertex = ExecutableShader(compile_source(_vertex_shader(fragment, free), stage="vertex"))
    return CheckedScene(size, vertex, VertexData(attributes, len(clip)), tuple(origins))


def _ramp(pixels: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]:
    """Return values from 0 to 1 that grow along an axis, and slower along the other: (vertices,)."""
    along = pixels[:, axis] + _SLANT * pixels[:, 1 - axis]
    unit = 2.0 ** -(np.ceil(np.log2(along.max())) + _GRADIENT_BITS)
    # A multiple of a power of two, so that float32 holds all values and gradients exactly.
    return np.asarray(along * (np.floor(1 / (along.max() * unit)) * unit))


def _vertex_shader(fragment: EntryPoint, position: int) -> str:
    """Return the GLSL vertex shader that passes its inputs on; `position` is the location of the position."""
    lines = ["#version 450", f"layout(location = {position}) in vec4 position;"]
    body = ["    gl_Position = position;"]
    for item in fragment.variables.inputs:
        assert isinstance(item.type, ScalarType | VectorType)
        place, kind = f"layout(location = {item.location})", item.type.glsl
        qualifier = "" if item.interpolation == "smooth" else f"{item.interpolation} "
        lines.append(f"{place} in {kind} given_{item.location};")
        lines.append(f"{place} {qualifier}out {kind} passed_{item.location};")
        body.append(f"    passed_{item.location} = given_{item.location};")
    return "\n".join([*lines, "void main()", "{", *body, "}", ""])


def _scalar_of(item: StageVariable) -> ScalarType:
    """Return the type of an input's components."""
    name = interface_name(item.name) or f"location {item.location}"
    if item.auxiliary in ("patch", "primitive") or item.component:
        raise Unsupported(
            f"The input {name} is one of each primitive or begins at a later component;"
            " check cannot generate it.",
            [item.auxiliary or "component"],
        )
    scalar = item.scalar
    if scalar is None or scalar.bits != 32 or not isinstance(item.type, ScalarType | VectorType):
        raise Unsupported(
            f"The input {name} is no scalar or vector of 32 bits; check cannot generate it.", [str(item.type)]
        )
    return scalar


def _component(
    item: StageVariable,
    scalar: ScalarType,
    number: int,
    ramps: npt.NDArray[np.float64],
    random: np.random.Generator,
) -> npt.NDArray[Any]:
    """Return one component of an input at every vertex, (vertices,)."""
    if item.interpolation == "flat":
        values = random.integers(0, _FLAT_VALUES, len(ramps))
        return values / _FLAT_VALUES if scalar.kind == "float" else values
    across, down = ramps.T
    functions = (across, down, 1 - across, 1 - down, (across + down) / 2, (1 + across - down) / 2)
    chosen: npt.NDArray[Any] = functions[(4 * item.location + number) % len(functions)]
    return chosen
