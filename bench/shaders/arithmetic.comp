#version 460
#extension GL_EXT_control_flow_attributes : require
// Maximum rate of multiplications and additions: CHAINS independent chains per invocation, x = x * factor +
// summand.
//
// factor and summand are push constants. With -1 and an integer, a chain alternates between two values,
// exactly in every type. So the expected result is known, but the compiler does not know it. binding 0: the
// sum of each invocation's chains, for each component.
//
// KIND: 0 float, 1 a pair of float16_t (which hardware has in one instruction), 2 int, 3 double
#ifndef KIND
#define KIND 0
#endif
#if KIND == 0
#define VALUE float
#elif KIND == 1
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define VALUE f16vec2
#elif KIND == 2
#define VALUE int
#else
#define VALUE double
#endif
#if KIND == 2
#define MULTIPLY_ADD(x, a, b) ((x) * (a) + (b))
#else
#define MULTIPLY_ADD(x, a, b) fma(x, a, b)
#endif
#if KIND == 1
#define COMPONENTS 2
#define COMPONENT(x, c) float(x[c])
#else
#define COMPONENTS 1
#define COMPONENT(x, c) float(x)
#endif
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 10) const uint CHAINS = 8u;
const uint UNROLL = 16u;  // steps of each chain in a round
layout(std430, binding = 0) writeonly buffer Sums { float sums[]; };
layout(push_constant) uniform Push { uint rounds; int factor; int summand; } push;

void main() {
    const VALUE factor = VALUE(push.factor), summand = VALUE(push.summand);
    VALUE x[CHAINS];
    [[unroll]] for (uint k = 0u; k < CHAINS; ++k) x[k] = VALUE(int((gl_LocalInvocationID.x + k) & 15u));
    for (uint n = 0u; n < push.rounds; ++n) {
        [[unroll]] for (uint i = 0u; i < UNROLL; ++i) {
            [[unroll]] for (uint k = 0u; k < CHAINS; ++k) x[k] = MULTIPLY_ADD(x[k], factor, summand);
        }
    }
    // One more step, so that the number of steps is odd and the last state differs from the first.
    [[unroll]] for (uint k = 0u; k < CHAINS; ++k) x[k] = MULTIPLY_ADD(x[k], factor, summand);
    [[unroll]] for (uint c = 0u; c < COMPONENTS; ++c) {
        float sum = 0.0;
        [[unroll]] for (uint k = 0u; k < CHAINS; ++k) sum += COMPONENT(x[k], c);
        sums[gl_GlobalInvocationID.x * COMPONENTS + c] = sum;
    }
}
