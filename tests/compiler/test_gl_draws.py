"""Vertex and fragment shaders written for OpenGL, drawn: matching by name, and where coordinates begin."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.compiler import compile_source, interface_of, link
from vkgroup.dispatch import Device, DrawState

#: A triangle over everything, at a depth that the host sets; outputs in a different order.
VERTEX = """#version 430
uniform float depth = 0.0;
uniform float factor = 3.0;
out float last;
flat out int first;
void main() {
    gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, depth, 1.0);
    first = 5 + gl_InstanceID;
    last = 2.0 * factor;
    if (depth > 100.0) { return; }
    gl_Position *= 2.0;
}
"""
FRAGMENT = """#version 430
flat in int first;
in float last;
uniform float factor;
out vec4 color;
void main() { color = vec4(first, last + factor, gl_FragCoord.z, gl_FragCoord.y); }
"""


def _drawn(device: Device, depth: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    modules = link([(VERTEX, "vertex", "v"), (FRAGMENT, "fragment", "f")])
    interface = interface_of(modules["fragment"])
    assert interface is not None
    assert interface == interface_of(modules["vertex"])
    assert interface.default_block is not None
    assert interface.default_block.stages == ("vertex", "fragment")
    block = interface.initial_block()
    interface.uniform("depth")[0].write(block, depth)
    place = interface.default_block.set, interface.default_block.binding
    with device.buffer(block) as uniforms:
        found = device.draw(
            modules["fragment"], (2, 2), vertex=modules["vertex"], count=3, bindings={place: uniforms}
        )
        return np.asarray(found["color"])


@pytest.mark.parametrize("depth", [-1, -0.5, 0, 1])
def test_stages_of_a_program(depth: float, device: Device) -> None:
    """Inputs are found by name, uniforms shared; z reaches from -1 to 1 (GL 4.3, 13.5), rows from 0."""
    color = _drawn(device, depth)
    assert set(color[..., 0].flat) == {5}
    assert set(color[..., 1].flat) == {9}
    assert set(color[..., 2].flat) == {(depth + 1) / 2}
    assert color[..., 3].tolist() == [[0.5, 0.5], [1.5, 1.5]]


@pytest.mark.parametrize("depth", [-1.5, 1.5])
def test_what_opengl_clips_is_clipped(depth: float, device: Device) -> None:
    assert not _drawn(device, depth).any()


def test_points_begin_where_y_is_greatest(vulkan_device: Device) -> None:
    """GL 4.3, 14.4.1: the initial POINT_SPRITE_COORD_ORIGIN is UPPER_LEFT, and rows count from below."""
    vertex = "#version 430\nvoid main() { gl_Position = vec4(0, 0, 0, 1); gl_PointSize = 4.0; }"
    fragment = """#version 430
        out vec4 color;
        uniform int one = 1;
        void main() { color = vec4(gl_PointCoord, gl_PointCoord.y, gl_PointCoord[one]); }
    """
    modules = link([(vertex, "vertex", "v"), (fragment, "fragment", "f")])
    interface = interface_of(modules["fragment"])
    assert interface is not None
    with vulkan_device.buffer(interface.initial_block()) as uniforms:
        found = vulkan_device.draw(
            modules["fragment"],
            (4, 4),
            vertex=modules["vertex"],
            count=1,
            state=DrawState(topology="points"),
            bindings={(1, 64): uniforms},
        )
    color = np.asarray(found["color"])
    assert color[0, :, 0].tolist() == [0.125, 0.375, 0.625, 0.875]
    for component in (1, 2, 3):
        assert color[:, 0, component].tolist() == [0.875, 0.625, 0.375, 0.125]


def test_fragment_shader_alone(device: Device) -> None:
    source = """#version 420
        layout(binding = 2) uniform atomic_uint fragments;
        uniform float factor = 4.0;
        out vec4 color;
        void main() {
            atomicCounterIncrement(fragments);
            color = vec4(gl_FragCoord.x * factor, gl_DepthRange.near, gl_DepthRange.far, gl_DepthRange.diff);
        }
    """
    module = compile_source(source, stage="fragment", dialect="gl")
    interface = interface_of(module)
    assert interface is not None
    assert interface.default_block is not None
    assert interface.outputs == (("color", 0),)
    (buffer,) = interface.at("atomic_counter_buffer", 2)
    place = interface.default_block.set, interface.default_block.binding
    with device.buffer(interface.initial_block()) as uniforms:
        counts = np.zeros(1, np.uint32)
        bindings = {place: uniforms, (buffer.set, buffer.binding): counts}
        found = device.draw(module, (2, 2), bindings=bindings)
    assert np.asarray(found["color"]).tolist() == [[[2, 0, 1, 1], [6, 0, 1, 1]]] * 2
    # Helper invocations do not count (GLSL 4.30, 8.13.2).
    assert np.asarray(found[buffer.set, buffer.binding]).tolist() == [4]


def test_locations_of_the_author_stay() -> None:
    vertex = """#version 430
        layout(location = 3) in vec2 at;
        in mat2 turn;
        in vec2 other;
        layout(location = 2) out vec2 a;
        out vec2 b;
        void main() { gl_Position = vec4(turn * at + other, 0, 1); a = at; b = other; }
    """
    fragment = """#version 430
        in vec2 b;
        layout(location = 2) in vec2 renamed;
        layout(location = 1) out vec4 second;
        out vec4 first;
        void main() { first = vec4(b, renamed); second = first; }
    """
    modules = link([(vertex, "vertex", "v"), (fragment, "fragment", "f")])
    interface = interface_of(modules["vertex"])
    assert interface is not None
    assert dict(interface.attributes) == {"at": 3, "turn": 0, "other": 2}
    assert dict(interface.outputs) == {"second": 1, "first": 0}
    of_vertex, of_fragment = (
        modules[stage].reflection.entry_point().variables for stage in ("vertex", "fragment")
    )
    assert {variable.name: variable.location for variable in of_vertex.outputs} == {"a": 2, "b": 0}
    assert {variable.name: variable.location for variable in of_fragment.inputs} == {"renamed": 2, "b": 0}
