#version 460
// Adds the values of each subgroup; all of its invocations store the sum.
// values: one uint per invocation. sums: the sum of the subgroup that the invocation belongs to.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    // vkgroup: allow(differs): the sum of a subgroup depends on its size
    sums[index] = subgroupAdd(values[index]);
}
