// Sum of every subgroup by a butterfly that starts at 16.
#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Total { uint total; };
void main() {
    uint v = x[gl_GlobalInvocationID.x];
    for (uint offset = 16u; offset > 0u; offset >>= 1u) // expect: assumes
        v += subgroupShuffleXor(v, offset); // expect: assumes
    if (subgroupElect())
        atomicAdd(total, v);
}
