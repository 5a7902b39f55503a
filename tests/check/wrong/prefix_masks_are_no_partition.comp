// Running totals of a subgroup, from a partitioned sum that gets the lanes up to one's own for a subset.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_NV_shader_subgroup_partitioned : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Totals { uint totals[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    totals[i] = subgroupPartitionedAddNV(values[i], gl_SubgroupLeMask); // expect: undefined
}
