// Matrix times vector, in shared memory, without subgroup operations.
//
// Bindings: 0 the matrix, row by row; 1 the vector; 2 the results, or with FINISH SECOND the sums of parts.
#version 460
#include "../include/kernel.glsl"
#include "products.glsl"
#include "../include/team_shared.glsl"
#include "matvec.glsl"
