#version 460
// Cost of divergence: one subgroup whose lanes take different branches, timed by the shader clock.
//
// The inputs contain the branch of each lane. All branches are equally long, and too long for the compiler to
// compute them all and select a result. FORM: 0 if and else, 1 switch, 2 a loop; the branch is then the
// number of iterations. binding 0, Inputs   the way of each lane binding 1, Outputs  the number that each
// lane ends with binding 2, Clocks   (samples) begin and end
#ifdef CLOCK
#extension GL_ARB_shader_clock : require
#define NOW() clock2x32ARB()
#else
#define NOW() uvec2(0u)
#endif
#ifndef FORM
#define FORM 0
#endif
layout(local_size_x = 128, local_size_x_id = 0) in;
const uint STEPS = 32u;  // of a branch
layout(std430, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 1) writeonly buffer Outputs { uint outputs[]; };
layout(std430, binding = 2) writeonly buffer Clocks { uvec4 clocks[]; };
// zero is 0 in timed runs, which the compiler does not know.
layout(push_constant) uniform Push { uint which; uint rounds; uint samples; uvec2 zero; } push;

// One of several branches; no two branches have the same factor, shift and summand.
#define GO(way) for (uint i = 0u; i < STEPS; ++i) x = (x * (2u * (way) + 3u) ^ (x >> ((way) % 7u + 1u))) + (way);
#define IF(way, lane_way) if (lane_way == way) { GO(way) } else
#define CASE(way) case way: GO(way) break;
#define EIGHT(what, a) what(a) what(a + 1u) what(a + 2u) what(a + 3u) what(a + 4u) what(a + 5u) what(a + 6u) what(a + 7u)
#define IF_WAY(number) IF((number), way)

uint pass(uint x, uint way) {
#if FORM == 0
    EIGHT(IF_WAY, 0u) EIGHT(IF_WAY, 8u) EIGHT(IF_WAY, 16u) EIGHT(IF_WAY, 24u) { }
#elif FORM == 1
    switch (way) {
        EIGHT(CASE, 0u) EIGHT(CASE, 8u) EIGHT(CASE, 16u) EIGHT(CASE, 24u)
    }
#else
    for (uint n = 0u; n < way; ++n) { GO(1u) }
#endif
    return x;
}

void main() {
    const uint lane = gl_LocalInvocationID.x, base = lane * 0x9e3779b9u + 1u, way = inputs[lane];
    uint x = base;
    for (uint s = 0u; s < push.samples; ++s) {
        const uvec2 begin = NOW();
        for (uint n = 0u; n < push.rounds; ++n) x = pass(base ^ (x & push.zero.x), way);
        const uvec2 end = NOW();
        if (lane == 0u) clocks[s] = uvec4(begin, end);
    }
    outputs[lane] = x;
}
