"""Compute, then draw: both in one context."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup import gl
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device, DrawState

_FILL = """
#version 430
layout(local_size_x = 4, local_size_y = 4) in;
layout(r32ui, binding = 0) writeonly uniform uimage2D picture;
layout(std430, binding = 0) buffer Offset { uint offset; };
void main() {
    uvec2 place = gl_GlobalInvocationID.xy;
    imageStore(picture, ivec2(place), uvec4(place.y * 8u + place.x));
    if (gl_LocalInvocationIndex == 0u) { offset = 100u; }
}
"""

_SHOW = """
#version 430
layout(binding = 2) uniform usampler2D picture;
layout(std430, binding = 0) buffer Offset { uint offset; };
uniform uint factor;
layout(location = 0) out uint color;
void main() { color = factor * texelFetch(picture, ivec2(gl_FragCoord.xy), 0).x + offset; }
"""


@pytest.fixture
def context(device: Device) -> gl.Context:
    """A context with the picture bound for both programs."""
    made = gl.Context(device)
    picture = made.bind("image", 0, np.zeros((4, 8), np.uint32))
    made.bind("texture", 2, picture)
    made.bind("shader_storage", 0, np.zeros(1, np.uint32))
    return made


def test_compute_then_draw(context: gl.Context) -> None:
    """A draw sees the image and the buffer that a dispatch wrote; row 0 is the bottom row."""
    fill, show = context.program(compute=_FILL), context.program(fragment=_SHOW)
    show["factor"] = 10
    context.use(fill)
    context.dispatch_compute(2, 1, 1)
    context.memory_barrier("TEXTURE_FETCH_BARRIER_BIT", "SHADER_STORAGE_BARRIER_BIT")
    context.use(show)
    found = context.draw((8, 4))
    assert found is not None
    assert (found["color"] == 10 * np.arange(32).reshape(4, 8) + 100).all()


def test_a_pipeline_computes_and_draws_without_switching(context: gl.Context) -> None:
    """Issue 7: the triangles are processed by one program, the dispatch by another."""
    pipeline = context.create_pipeline()
    show = context.program(separable=True, fragment=_SHOW)
    show["factor"] = 1
    pipeline.use_stages("FRAGMENT_SHADER_BIT", show)
    pipeline.use_stages("COMPUTE_SHADER_BIT", context.program(separable=True, compute=_FILL))
    context.bind_pipeline(pipeline)
    context.dispatch_compute(2, 1, 1)
    found = context.draw((8, 4))
    assert found is not None
    assert (found["color"] == np.arange(32).reshape(4, 8) + 100).all()


def test_conditions_discard_draws(context: gl.Context) -> None:
    context.use(context.program(fragment=_SHOW))
    condition = context.device.buffer(np.zeros(1, np.uint32))
    with context.conditional_render(condition):
        assert context.draw((8, 4)) is None
    with context.conditional_render(condition, "QUERY_WAIT_INVERTED"):
        assert context.draw((8, 4)) is not None
    with context.conditional_render(False):
        assert context.draw((8, 4)) is None


def test_draws_without_fragment_program(context: gl.Context) -> None:
    """A compute program in use is no error of OpenGL's; the results are undefined (issue 12)."""
    context.use(context.program(compute=_FILL))
    with pytest.raises(InvalidDispatch, match="undefined") as caught:
        context.draw((8, 4))
    assert not isinstance(caught.value, gl.GLError)


_CORNERS = """
#version 430
uniform vec2 shift;
layout(location = 0) in vec2 position;
layout(std430, binding = 0) buffer Offset { uint offset; };
void main() { gl_Position = vec4(position + shift, 0.0, 1.0); }
"""


@pytest.mark.parametrize("separate", [False, True])
def test_vertex_programs(context: gl.Context, separate: bool) -> None:
    """Linked with the fragment shader or separate, each stage has its own uniforms."""
    context.use(context.program(compute=_FILL))
    context.dispatch_compute(2, 1, 1)
    context.use(None)
    if separate:
        pipeline = context.create_pipeline()
        corners = context.program(separable=True, vertex=_CORNERS)
        show = context.program(separable=True, fragment=_SHOW)
        pipeline.use_stages("VERTEX_SHADER_BIT", corners)
        pipeline.use_stages("FRAGMENT_SHADER_BIT", show)
        context.bind_pipeline(pipeline)
    else:
        corners = show = context.program(vertex=_CORNERS, fragment=_SHOW)
        context.use(show)
    corners["shift"] = (0, 1)
    show["factor"] = 1
    lower_half = np.array([[-1, -2], [1, -2], [-1, -1], [1, -1]], np.float32)
    found = context.draw(
        (8, 4), vertices={"position": lower_half}, state=DrawState(topology="triangle_strip")
    )
    assert found is not None
    expected = np.arange(32).reshape(4, 8) + 100
    expected[2:] = 0
    assert (found["color"] == expected).all()
