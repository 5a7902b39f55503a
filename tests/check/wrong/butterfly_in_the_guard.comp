// Sum of each subgroup by a butterfly of shuffles, added up in one word by its first lane.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; } source;
layout(std430, binding = 1) buffer Out { uint total; } result;
layout(push_constant) uniform Push { uint n; } pc;

void main() {
    uint id = gl_GlobalInvocationID.x;
    if (id < pc.n) {
        uint sum = source.x[id];
        for (uint mask = 1u; mask < gl_SubgroupSize; mask <<= 1u) {
            sum += subgroupShuffleXor(sum, mask); // expect: undefined
        }
        if (subgroupElect())
            atomicAdd(result.total, sum);
    }
}
