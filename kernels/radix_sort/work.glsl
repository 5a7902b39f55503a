// Data that the kernels of one sort share, in one buffer that is initially zero.
//
// pass[p].ticket  number of workgroups that have begun pass p: tiles are assigned in the order of starting
// pass[p].route   the work of pass p: bits of ROUTE_*, or 0 if the digit is the same in all keys
// base[p][d]      first the number of keys whose digit p is d; after the scan, the index at which they begin

const uint MOST_PASSES = 16u;

const uint ROUTE_RUNS = 1u;         // this pass moves keys
const uint ROUTE_FIRST = 2u;        // the first such pass: it reads the input
const uint ROUTE_LAST = 4u;         // the last such pass
const uint ROUTE_TO_RESULT = 8u;    // it writes the result; else the spare buffer. The other one is read.
const uint ROUTE_ODD = 16u;         // the words have the statuses of another pass: see look_back.glsl

struct PassState {
    uint ticket;
    uint route;
};

layout(std430, binding = WORK_BINDING) buffer Work {
    PassState pass[MOST_PASSES];
    uint base[PASSES * RADIX];
} work;
