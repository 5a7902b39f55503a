// Reduce the states of the parts of each row to the result: in shared memory, without
// subgroup operations.
//
// Bindings: 1 (and 2 with ARG) the states of parts; 3 the results.
#version 460
#include "../include/kernel.glsl"
#include "operation.glsl"
#include "../include/team_shared.glsl"
#define FINISH PARTS
#include "results.glsl"
#include "finish.glsl"
