#version 460
#extension GL_KHR_shader_subgroup_basic : require
// Cost of synchronization in workgroups of any size: barriers alone, and exchanges within a subgroup that
// need them.
//
// which: 0 barrier, 1 subgroupBarrier, 2 to 5 subgroup's memory barriers, 6 nothing;
//        10 an exchange through shared memory and barrier, 11 one with subgroupBarrier, 12 a shuffle;
//        20 reading the clock.
// binding 0, Inputs   not read
// binding 1, Outputs  the last operand of each invocation, or what its last exchange gave
// binding 2, Clocks   (samples, subgroups) begin and end
#ifdef CLOCK
#extension GL_ARB_shader_clock : require
#define NOW() clock2x32ARB()
#else
#define NOW() uvec2(0u)
#endif
#ifdef SHUFFLE
#extension GL_KHR_shader_subgroup_shuffle : require
#define SHUFFLED(x, source) subgroupShuffle(x, source)
#else
#define SHUFFLED(x, source) (x)
#endif
layout(local_size_x = 128, local_size_x_id = 0) in;
layout(std430, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 1) writeonly buffer Outputs { uint outputs[]; };
layout(std430, binding = 2) writeonly buffer Clocks { uvec4 clocks[]; };
// zero is 0 in timed runs, which the compiler does not know.
layout(push_constant) uniform Push { uint which; uint rounds; uint samples; uvec2 zero; } push;
shared uint memory[2u * gl_WorkGroupSize.x];

// The number of steps is even, since exchanges alternate between two halves of the memory; see step(half_).
#define TIMES(step) step(0u) step(1u) step(0u) step(1u) step(0u) step(1u) step(0u) step(1u)
#define AFTER(statement) { statement; x = base ^ ((x + 1u) & push.zero.x); }
#define EXCHANGE(half_, wait) { \
    memory[half_ * gl_WorkGroupSize.x + place] = x; wait; \
    r = memory[half_ * gl_WorkGroupSize.x + partner]; x = base ^ (r & push.zero.x); }
#define STEP_0(half_) AFTER(barrier())
#define STEP_1(half_) AFTER(subgroupBarrier())
#define STEP_2(half_) AFTER(subgroupMemoryBarrier())
#define STEP_3(half_) AFTER(subgroupMemoryBarrierBuffer())
#define STEP_4(half_) AFTER(subgroupMemoryBarrierShared())
#define STEP_5(half_) AFTER(subgroupMemoryBarrierImage())
#define STEP_6(half_) AFTER(;)
#define STEP_10(half_) EXCHANGE(half_, barrier())
#define STEP_11(half_) EXCHANGE(half_, subgroupBarrier())
#define STEP_12(half_) { r = SHUFFLED(x, source); x = base ^ (r & push.zero.x); }
#define STEP_20(half_) { x = base ^ ((x + NOW().x) & push.zero.x); }

#define SAMPLES(step) \
    for (uint s = 0u; s < push.samples; ++s) { \
        barrier(); \
        const uvec2 begin = NOW(); \
        for (uint n = 0u; n < push.rounds; ++n) { TIMES(step) } \
        const uvec2 end = NOW(); \
        if (lane == 0u) clocks[s * gl_NumSubgroups + gl_SubgroupID] = uvec4(begin, end); \
    }
#define CASE(number) case number: SAMPLES(STEP_##number) break;

void main() {
    const uint size = gl_SubgroupSize, lane = gl_SubgroupInvocationID, place = gl_SubgroupID * size + lane;
    // 5 is odd and the size is a power of two, so every lane is the partner of exactly one lane.
    const uint source = (lane * 5u + 3u) % size, partner = place - lane + source;
    const uint base = place * 0x9e3779b9u + 1u;
    uint x = base, r = 0u;
    switch (push.which) {
        CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
        CASE(10) CASE(11)
#ifdef SHUFFLE
        CASE(12)
#endif
#ifdef CLOCK
        CASE(20)
#endif
    }
    outputs[place] = push.which >= 10u && push.which < 20u ? r : x;
}
