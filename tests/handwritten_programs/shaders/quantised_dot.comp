#version 460
// A layer of a quantised network: dot products of 8-bit integers in 32 bits, scaled back to 8 with saturation.
// inputs: 32 int8 a row. weights: 16 rows of 32 int8. outputs: 16 int8 a row. sums: the 16-bit halves of the sums.
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require

layout(local_size_x = 16) in;
layout(push_constant) uniform Push { int shift; };
layout(std430, binding = 0) readonly buffer Inputs { i8vec4 inputs[][8]; };
layout(std430, binding = 1) readonly buffer Weights { i8vec4 weights[16][8]; };
layout(std430, binding = 2) writeonly buffer Outputs { int8_t outputs[][16]; };
layout(std430, binding = 3) writeonly buffer Sums { u16vec2 sums[][16]; };

void main() {
    uint row = gl_WorkGroupID.x, neuron = gl_LocalInvocationIndex;
    int sum = 0;
    for (int k = 0; k < 8; k++) {
        i16vec4 products = i16vec4(inputs[row][k]) * i16vec4(weights[neuron][k]);
        sum += int(products.x) + int(products.y) + int(products.z) + int(products.w);
    }
    outputs[row][neuron] = int8_t(clamp((sum + (1 << (shift - 1))) >> shift, -128, 127));
    sums[row][neuron] = u16vec2(uint16_t(sum & 0xffff), uint16_t(uint(sum) >> 16));
}
