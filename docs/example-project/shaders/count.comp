#version 450
#extension GL_KHR_shader_subgroup_ballot : require
// Counts the values above a limit, for each workgroup, by the ballot of each subgroup.
// binding 0: values; binding 1: one count for each workgroup.
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) writeonly buffer Counts { uint counts[]; };
layout(push_constant) uniform Constants { float limit; };

shared uint total;

void main() {
    if (gl_LocalInvocationIndex == 0u) total = 0u;
    barrier();
    uvec4 above = subgroupBallot(values[gl_GlobalInvocationID.x] > limit);
    if (subgroupElect()) atomicAdd(total, subgroupBallotBitCount(above));
    barrier();
    if (gl_LocalInvocationIndex == 0u) counts[gl_WorkGroupID.x] = total;
}
