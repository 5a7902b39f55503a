// Layer norm of each row, in shared memory, without subgroup operations.
//
// Bindings: 0 the elements; 1 the results; 2 weights and 3 biases of the columns.
#version 460
#include "../include/kernel.glsl"
#include "layer_norm.glsl"
#include "../include/team_shared.glsl"
#include "row.glsl"
#include "layer_norm_rows.glsl"
#include "rows.glsl"
