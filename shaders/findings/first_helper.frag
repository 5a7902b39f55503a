// Compares the first invocation in the active mask with the one that subgroupBroadcastFirst chooses. Without a vertex shader,
// lavapipe draws the image in two triangles, and subgroups at their edge have helper invocations:
// vkgroup run shaders/findings/first_helper.frag --size 8,4
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_EXT_maximal_reconvergence : require

// The first bit of the active mask, and 1 where subgroupBroadcastFirst chooses another invocation.
layout(location = 0) out uvec4 color;

void main() [[maximally_reconverges]] {
    uint first = subgroupBallotFindLSB(subgroupBallot(true));
    uint chosen = subgroupBroadcastFirst(gl_SubgroupInvocationID);
    // A driver may have no helper invocations in shaders without quad operations.
    uint neighbor = subgroupQuadSwapHorizontal(gl_SubgroupInvocationID);
    color = uvec4(first, uint(first != chosen), neighbor, 0u);
}
