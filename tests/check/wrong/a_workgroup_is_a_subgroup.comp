// Softmax of rows of 32: a workgroup of 32 is taken for a subgroup.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Rows { float x[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float largest = subgroupMax(x[i]); // expect: diverges
    float e = exp(x[i] - largest);
    float sum = subgroupAdd(e);
    x[i] = e / sum; // expect: differs
}
