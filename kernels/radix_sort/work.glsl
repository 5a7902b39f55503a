// Data that the kernels of one sort share, in one buffer that is initially zero.
//
// pass[p].ticket  how many workgroups have begun pass p: tiles are given out in the order of starting
// pass[p].route   what pass p has to do: bits of ROUTE_*, or 0 where the digit is the same in all keys
// base[p][d]      first the number of keys whose digit p is d; from the scan on the place where they begin

const uint MOST_PASSES = 16u;

const uint ROUTE_RUNS = 1u;         // this pass moves keys
const uint ROUTE_FIRST = 2u;        // it is the first that does: it reads the input
const uint ROUTE_LAST = 4u;         // it is the last that does
const uint ROUTE_TO_RESULT = 8u;    // it writes the result; else the spare buffer. The other one is read.
const uint ROUTE_ODD = 16u;         // the look-back finds what another pass left: see look_back.glsl

struct PassState {
    uint ticket;
    uint route;
};

layout(std430, binding = WORK_BINDING) buffer Work {
    PassState pass[MOST_PASSES];
    uint base[PASSES * RADIX];
} work;
