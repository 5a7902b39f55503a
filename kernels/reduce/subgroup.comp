// Reduce each row of an array to one number, or in parts to several: by subgroup operations, and across
// subgroups in shared memory.
//
// Bindings: 0 the elements; 1 (and 2 with ARG) the states of parts; 3 the results; 4 the tickets. Which of them
// there are says FINISH (results.glsl); types and operation are macros of operation.glsl.
#version 460
#include "../include/kernel.glsl"
#include "operation.glsl"
#include "operation_subgroup.glsl"
#include "../include/team_subgroup.glsl"
#include "fold.glsl"
#include "results.glsl"
#include "reduce.glsl"
