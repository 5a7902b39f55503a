// Sum by a butterfly that begins at half the subgroup and asks only lanes that are there.
// needs: full subgroups
#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Total { uint total; };
layout(push_constant) uniform Push { uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint v = i < n ? x[i] : 0u;
    for (uint mask = gl_SubgroupSize >> 1; mask > 0u; mask >>= 1)
        v += subgroupShuffleXor(v, mask);
    if (subgroupElect())
        atomicAdd(total, v);
}
