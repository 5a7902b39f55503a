// Compacts the even values of each workgroup of 64, with lane masks of 32 bits.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer List { uint list[]; };
layout(std430, binding = 2) buffer Count { uint evens; };
void main() {
    uint v = values[gl_GlobalInvocationID.x];
    bool even = (v & 1u) == 0u;
    uint votes = subgroupBallot(even).x; // expect: assumes
    uint below = (1u << gl_SubgroupInvocationID) - 1u; // expect: assumes
    uint first;
    if (subgroupElect())
        first = atomicAdd(evens, bitCount(votes));
    first = subgroupBroadcastFirst(first);
    if (even)
        list[first + bitCount(votes & below)] = v;
}
