// Add, Mul, Min and Max on special values (denormals, NaN), over the subgroup and between two values, for one
// floating-point type.
//
// Each workgroup is one full subgroup and processes one row; lane means gl_SubgroupInvocationID.
// binding 0, bits:    bits[row * size + lane], the value's bits in the low bits of the pair (low word first)
// binding 1, result:  result[(row * 8 + operation) * size + lane], as bits like binding 0; operations 0 to 3 are
//                     subgroupAdd, subgroupMul, subgroupMin, subgroupMax, operations 4 to 7 are +, *, min, max of the
//                     lane's value and the next lane's (for the last lane, lane 0's), read from memory.
//
// Specialization constant 0: the size of the subgroup.
// BITS is 16, 32 or 64. The bits are given as words so that no 16-bit or 64-bit storage is needed.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#if BITS == 16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require
#define FLOAT float16_t
#define FROM_BITS(pair) unpackFloat2x16((pair).x).x
#define TO_BITS(value) uvec2(packFloat2x16(f16vec2(value, float16_t(0.0))), 0u)
#elif BITS == 32
#define FLOAT float
#define FROM_BITS(pair) uintBitsToFloat((pair).x)
#define TO_BITS(value) uvec2(floatBitsToUint(value), 0u)
#else
#define FLOAT double
#define FROM_BITS(pair) packDouble2x32(pair)
#define TO_BITS(value) unpackDouble2x32(value)
#endif

layout(local_size_x_id = 0) in;

layout(set = 0, binding = 0) readonly buffer Bits { uvec2 bits[]; };
layout(set = 0, binding = 1) writeonly buffer Result { uvec2 result[]; };

void put(uint operation, FLOAT value) {
    result[(gl_WorkGroupID.x * 8u + operation) * gl_WorkGroupSize.x + gl_SubgroupInvocationID] = TO_BITS(value);
}

void main() {
    uint size = gl_WorkGroupSize.x;
    uint lane = gl_SubgroupInvocationID;
    FLOAT value = FROM_BITS(bits[gl_WorkGroupID.x * size + lane]);
    FLOAT next = FROM_BITS(bits[gl_WorkGroupID.x * size + (lane + 1u) % size]);
    put(0u, subgroupAdd(value));
    put(1u, subgroupMul(value));
    put(2u, subgroupMin(value));
    put(3u, subgroupMax(value));
    put(4u, value + next);
    put(5u, value * next);
    put(6u, min(value, next));
    put(7u, max(value, next));
}
