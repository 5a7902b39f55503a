// Matrix times vector, by subgroup operations; rows that take a workgroup, across subgroups in shared memory.
//
// Bindings: 0 the matrix, row by row; 1 the vector; 2 the results, or with FINISH SECOND the sums of parts.
#version 460
#include "../include/kernel.glsl"
#include "products.glsl"

#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#if A_BITS == 64
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#endif

State subgroup_combine(State s) { return subgroupAdd(s); }
State exchange(State s, uint mask) { return subgroupShuffleXor(s, mask); }

#include "../include/team_subgroup.glsl"
#include "matvec.glsl"
