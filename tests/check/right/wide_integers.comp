// 64-bit sums and products of 32-bit numbers.
#version 460
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint64_t b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint64_t wide = uint64_t(a[i]) * 0x123456789ul;
    b[i] = (wide << 7) ^ (wide >> 3) ^ uint64_t(i);
}
