// Counts the values above a threshold, one atomic a subgroup.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) buffer Count { uint count; };
void main() {
    uint votes = subgroupBallot(values[gl_GlobalInvocationID.x] > 0.5).x; // expect: assumes
    if (subgroupElect())
        atomicAdd(count, bitCount(votes));
}
