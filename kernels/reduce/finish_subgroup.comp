// Reduce the states of the parts of each row to the result: by subgroup operations, and across
// subgroups in shared memory.
//
// Bindings: 1 (and 2 with ARG) the states of parts; 3 the results.
#version 460
#include "../include/kernel.glsl"
#include "operation.glsl"
#include "operation_subgroup.glsl"
#include "../include/team_subgroup.glsl"
#define FINISH PARTS
#include "results.glsl"
#include "finish.glsl"
