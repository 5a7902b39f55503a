// Rank of every marked value among the marked values of its subgroup.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Marks { uint marks[]; };
layout(std430, binding = 1) buffer Total { uint total; };
void main() {
    bool marked = (marks[gl_GlobalInvocationID.x] & 4u) != 0u;
    uint bit = 1u << gl_SubgroupInvocationID; // expect: assumes
    uint all = subgroupOr(marked ? bit : 0u);
    if (subgroupElect())
        atomicAdd(total, bitCount(all));
}
