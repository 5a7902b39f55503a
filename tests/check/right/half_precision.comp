// Blends two signals of 16-bit floats.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) readonly buffer B { float16_t b[]; };
layout(binding = 2) writeonly buffer C { float16_t c[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    c[i] = mix(a[i], b[i], float16_t(0.25));
}
