#version 460
// Matrix product in float16: each invocation computes four columns of a row in a f16vec4.
// a: 16 x 16 float16. b: 16 x 16. c: their product.
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 4, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer A { float16_t a[16][16]; };
layout(std430, binding = 1) readonly buffer B { f16vec4 b[16][4]; };
layout(std430, binding = 2) writeonly buffer C { f16vec4 c[16][4]; };

void main() {
    uint row = gl_LocalInvocationID.y, column = gl_LocalInvocationID.x;
    f16vec4 sum = f16vec4(0.0);
    for (int k = 0; k < 16; k++) sum = fma(f16vec4(a[row][k]), b[k][column], sum);
    c[row][column] = sum;
}
