// Largest value of each row of 32.
#version 460
#extension GL_KHR_shader_subgroup_clustered : require
layout(local_size_x = 32, local_size_y = 4) in;
layout(std430, binding = 0) readonly buffer Matrix { float a[]; };
layout(std430, binding = 1) writeonly buffer Largest { float largest[]; };
void main() {
    uint i = gl_WorkGroupID.x * 128u + gl_LocalInvocationIndex;
    largest[i] = subgroupClusteredMax(a[i], 32u); // expect: assumes, diverges
}
