"""Stores of one stage are visible in the stages that it triggers (ARB_compute_shader, 8.16)."""

from __future__ import annotations

import numpy as np

from vkgroup import gl
from vkgroup.dispatch import Device

# A triangle that covers everything; each vertex stores a number before it passes on its position.
_VERTEX = """
#version 430
layout(std430, binding = 0) coherent buffer Left { uint left[]; };
flat out uint first;
void main()
{
    left[gl_VertexID] = 100u + uint(gl_VertexID);
    memoryBarrier();
    first = uint(gl_VertexID / 3) * 3u;
    int corner = gl_VertexID % 3;
    float row = gl_VertexID < 3 ? -1.0 : 0.0;
    gl_Position = vec4(corner == 1 ? 3.0 : -1.0, corner == 2 ? row + 2.0 : row, 0.0, 1.0);
}
"""

_FRAGMENT = """
#version 430
layout(std430, binding = 0) coherent buffer Left { uint left[]; };
flat in uint first;
layout(location = 0) out uvec3 color;
void main() { color = uvec3(left[first], left[first + 1u], left[first + 2u]); }
"""


def test_fragments_see_what_their_vertices_stored(device: Device) -> None:
    """Stores through coherent variables, memoryBarrier() behind them; fragments of their triangle."""
    context = gl.Context(device)
    context.use(context.program(vertex=_VERTEX, fragment=_FRAGMENT))
    left = context.bind("shader_storage", 0, np.zeros(6, np.uint32))
    found = context.draw((16, 16), count=6)
    assert found is not None
    assert left.read().tolist() == [100, 101, 102, 103, 104, 105]
    color = found["color"].reshape(-1, 3)
    drawn = color[color.any(axis=1)]
    assert len(drawn) > 100
    assert {tuple(row) for row in drawn.tolist()} <= {(100, 101, 102), (103, 104, 105)}
    assert len(np.unique(drawn, axis=0)) == 2
