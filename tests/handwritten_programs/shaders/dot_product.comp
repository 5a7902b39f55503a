#version 460
// Dot products of pairs of vectors, one a workgroup: strided partial sums, subgroupAdd, then the subgroups' sums one
// after the other.
// a, b: the vectors, length floats each, one after the other. products: one float a workgroup.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint length; };
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer Products { float products[]; };

shared float partial[gl_WorkGroupSize.x];

void main() {
    uint start = gl_WorkGroupID.x * length;
    float sum = 0.0;
    for (uint k = gl_LocalInvocationIndex; k < length; k += gl_WorkGroupSize.x) sum += a[start + k] * b[start + k];
    sum = subgroupAdd(sum);
    if (subgroupElect()) partial[gl_SubgroupID] = sum;
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        float total = partial[0];
        for (uint k = 1u; k < gl_NumSubgroups; k++) total += partial[k];
        products[gl_WorkGroupID.x] = total;
    }
}
