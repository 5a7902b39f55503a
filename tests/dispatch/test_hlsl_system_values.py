"""DirectCompute's system values are OpenGL's built-in variables (ARB_compute_shader, issue 10)."""

from __future__ import annotations

import numpy as np

from vkgroup.dispatch import Device

SIZE, GROUPS = (3, 2, 2), (2, 3, 2)

HLSL = f"""
RWStructuredBuffer<uint> found : register(u0);

[numthreads({SIZE[0]}, {SIZE[1]}, {SIZE[2]})]
void main(uint3 group : SV_GroupID, uint3 local : SV_GroupThreadID,
          uint3 everywhere : SV_DispatchThreadID, uint index : SV_GroupIndex)
{{
    uint row = everywhere.z * {SIZE[1] * GROUPS[1]} + everywhere.y;
    uint number = row * {SIZE[0] * GROUPS[0]} + everywhere.x;
    for (uint axis = 0; axis < 3; ++axis) {{
        found[10 * number + axis] = group[axis];
        found[10 * number + 3 + axis] = local[axis];
        found[10 * number + 6 + axis] = everywhere[axis];
    }}
    found[10 * number + 9] = index;
}}
"""

GLSL = f"""
#version 430
layout(local_size_x = {SIZE[0]}, local_size_y = {SIZE[1]}, local_size_z = {SIZE[2]}) in;
layout(std430, binding = 0) buffer Found {{ uint found[]; }};
void main()
{{
    uvec3 extent = gl_NumWorkGroups * gl_WorkGroupSize, everywhere = gl_GlobalInvocationID;
    uint number = (everywhere.z * extent.y + everywhere.y) * extent.x + everywhere.x;
    for (uint axis = 0u; axis < 3u; ++axis) {{
        found[10u * number + axis] = gl_WorkGroupID[axis];
        found[10u * number + 3u + axis] = gl_LocalInvocationID[axis];
        found[10u * number + 6u + axis] = everywhere[axis];
    }}
    found[10u * number + 9u] = gl_LocalInvocationIndex;
}}
"""


def expected() -> list[list[int]]:
    """Return the ten numbers of each invocation, those first whose x is least, then y, then z."""
    rows = []
    for place in np.ndindex(*(size * count for size, count in zip(SIZE[::-1], GROUPS[::-1], strict=True))):
        everywhere = place[::-1]
        group = [value // size for value, size in zip(everywhere, SIZE, strict=True)]
        local = [value % size for value, size in zip(everywhere, SIZE, strict=True)]
        index = (local[2] * SIZE[1] + local[1]) * SIZE[0] + local[0]
        rows.append([*group, *local, *everywhere, index])
    return rows


def test_system_values_are_the_built_in_variables(device: Device) -> None:
    """SV_GroupID, SV_GroupThreadID, SV_DispatchThreadID and SV_GroupIndex, beside OpenGL's four."""
    wanted = expected()
    zeros = np.zeros((len(wanted), 10), np.uint32)
    for source, dialect in ((HLSL, "hlsl"), (GLSL, "gl")):
        module = device.compile(source, stage="compute", dialect=dialect)
        (name,) = (binding.name for binding in module.reflection.bindings)
        assert device.run(module, GROUPS, {name: zeros})[name].tolist() == wanted
