"""A fragment shader is drawn: a size instead of workgroups, and pixels come back."""

import vkgroup

LANES = """
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(location = 0) out uint lane;
void main() { lane = gl_SubgroupInvocationID; }
"""

device = vkgroup.open("reference", subgroup_size=16)
found = device.draw(device.compile(LANES, stage="fragment"), (8, 2))
print(found["lane"])
