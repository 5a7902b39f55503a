// Layer norm of each row, by subgroup operations; rows that take a workgroup, across subgroups in shared
// memory.
//
// Bindings: 0 the elements; 1 the results; 2 weights and 3 biases of the columns.
#version 460
#include "../include/kernel.glsl"
#include "layer_norm.glsl"

#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require

// As combine(), of all lanes at once: with the common mean at hand, what each lane adds to the squares is
// known. The lowest lane has elements, unless the row ends before this chunk.
State subgroup_combine(State s) {
    float count = subgroupAdd(s.count);
    float first = subgroupShuffle(s.mean, 0u);
    float mean = first + subgroupAdd((s.mean - first) * s.count) / max(count, 1.0);
    float apart = s.count > 0.0 ? s.mean - mean : 0.0;
    return State(count, mean, subgroupAdd(s.squares + s.count * apart * apart));
}

State exchange(State s, uint mask) {
    return State(
        subgroupShuffleXor(s.count, mask), subgroupShuffleXor(s.mean, mask), subgroupShuffleXor(s.squares, mask)
    );
}

#include "../include/team_subgroup.glsl"
#include "row.glsl"
#include "layer_norm_rows.glsl"
#include "rows.glsl"
