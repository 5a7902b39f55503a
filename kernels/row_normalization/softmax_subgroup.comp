// Softmax of each row, by subgroup operations; rows that take a workgroup, across subgroups in shared memory.
//
// Bindings: 0 the elements; 1 the results.
#version 460
#include "../include/kernel.glsl"
#include "softmax.glsl"

#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require

// As combine(), but the greatest of all is found first: one exponential for each lane instead of two in each
// step.
State subgroup_combine(State s) {
    float greatest = subgroupMax(s.greatest);
    return State(greatest, subgroupAdd(moved(s, greatest)));
}

State exchange(State s, uint mask) {
    return State(subgroupShuffleXor(s.greatest, mask), subgroupShuffleXor(s.sum, mask));
}

#include "../include/team_subgroup.glsl"
#include "row.glsl"
#include "softmax_rows.glsl"
#include "rows.glsl"
