// Positions of values in a sorted array, with splitters in the registers of a subgroup.
//
// Each lane has REGISTERS consecutive splitters. A lane finds the lane whose splitters enclose its value by a
// binary search with shuffles of the last splitter, and then counts the other splitters of that lane.
//
// Bindings: 0 the sorted array; 1 the values; 2 the position of each value.
#version 460
#include "../include/kernel.glsl"
#include "../include/elements.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "search.glsl"

layout(constant_id = 10) const uint REGISTERS = 4u;

Key splitters[REGISTERS];    // of this lane

uint most_splitters() { return gl_SubgroupSize * REGISTERS; }

void read_splitters(uint step, uint valid) {
    [[unroll]] for (uint r = 0u; r < REGISTERS; ++r) {
        uint i = gl_SubgroupInvocationID * REGISTERS + r;
        splitters[r] = Key(0u);
        if (i < valid)
            splitters[r] = sorted_key(splitter_index(i, step));
    }
}

uint splitters_before(Key value, uint valid) {
    uint lanes = 0u;    // lanes whose splitters are all before the value
    for (uint skip = gl_SubgroupSize; skip > 0u; skip /= 2u) {
        uint lane = min(lanes + skip, gl_SubgroupSize) - 1u;
        Key last = subgroupShuffle(splitters[REGISTERS - 1u], lane);
        if (lanes + skip <= gl_SubgroupSize && (lanes + skip) * REGISTERS <= valid && before(last, value))
            lanes += skip;
    }
    uint found = lanes * REGISTERS;
    [[unroll]] for (uint r = 0u; r < REGISTERS - 1u; ++r) {
        Key splitter = subgroupShuffle(splitters[r], min(lanes, gl_SubgroupSize - 1u));
        if (lanes < gl_SubgroupSize && lanes * REGISTERS + r < valid && before(splitter, value))
            ++found;
    }
    return found;
}
