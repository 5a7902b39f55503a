"""Which results the specification leaves undefined, and what went wrong on the way."""

import numpy as np

import vkgroup

SHIFTED = """
#version 460
#extension GL_KHR_shader_subgroup_shuffle_relative : require
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Values { uint value[]; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    value[i] = subgroupShuffleUp(i, 1u);
}
"""

device = vkgroup.open("reference", subgroup_size=4)
found = device.run(device.compile(SHIFTED, stage="compute"), 1, {"Values": np.zeros(8, np.uint32)})
print(found.defined["Values"].astype(int))
print(found["Values"][found.defined["Values"]])
