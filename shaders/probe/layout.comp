// Records subgroup, lane and subgroup size of each invocation of a workgroup.
//
// binding 0, invocation: for each invocation, in the order of gl_LocalInvocationIndex, eight words:
//   gl_SubgroupSize, gl_SubgroupID, gl_SubgroupInvocationID, gl_NumSubgroups,
//   the number of bits set in subgroupBallot(true), and the gl_LocalInvocationIndex of the subgroup's
//   first active invocation (these two are 0 if BALLOT is not defined), 0, 0.
//
// Specialization constants 0, 1, 2: the extent of the workgroup.
// BALLOT is defined if the device supports ballot operations.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#ifdef BALLOT
#extension GL_KHR_shader_subgroup_ballot : require
#endif

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

layout(set = 0, binding = 0) writeonly buffer Invocation { uvec4 invocation[]; };

void main() {
    uvec4 seen = uvec4(0u);
#ifdef BALLOT
    seen.x = subgroupBallotBitCount(subgroupBallot(true));
    seen.y = subgroupBroadcastFirst(gl_LocalInvocationIndex);
#endif
    uint at = 2u * gl_LocalInvocationIndex;
    invocation[at] = uvec4(gl_SubgroupSize, gl_SubgroupID, gl_SubgroupInvocationID, gl_NumSubgroups);
    invocation[at + 1u] = seen;
}
