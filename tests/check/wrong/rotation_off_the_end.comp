// Passes values round a ring, one lane a step.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer Ring { uint ring[]; };
layout(push_constant) uniform Push { uint steps; };
void main() {
    uint value = ring[gl_GlobalInvocationID.x];
    for (uint step = 0; step < 3; ++step)
        value = subgroupShuffle(value, gl_SubgroupInvocationID + 1); // expect: undefined
    ring[gl_GlobalInvocationID.x] = value + steps; // expect: undefined
}
