// Softmax of each row, in shared memory, without subgroup operations.
//
// Bindings: 0 the elements; 1 the results.
#version 460
#include "../include/kernel.glsl"
#include "softmax.glsl"
#include "../include/team_shared.glsl"
#include "row.glsl"
#include "softmax_rows.glsl"
#include "rows.glsl"
