#version 460
// Exclusive prefix sums of each workgroup's values by subgroupExclusiveAdd, then the sums of the subgroups before.
// values: one uint an invocation. sums: the sum of the workgroup's values before it.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 128) in;
#include "order.glsl"
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };

shared uint partial[gl_WorkGroupSize.x];

void main() {
    uint index = gl_WorkGroupID.x * gl_WorkGroupSize.x + subgroup_order();
    uint value = values[index];
    uint sum = subgroupAdd(value);
    uint before = subgroupExclusiveAdd(value);
    if (subgroupElect()) partial[gl_SubgroupID] = sum;
    barrier();
    for (uint k = 0u; k < gl_SubgroupID; k++) before += partial[k];
    sums[index] = before;
}
