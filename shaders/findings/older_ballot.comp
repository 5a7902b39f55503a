#version 450
// A core ballot and a ballot of GL_ARB_shader_ballot next to each other, in a block that three paths of a switch reach.
// result: for each invocation the core ballot, then the older one (lowest 32 bits); zeros if lane & 3 is 2.
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_ARB_shader_ballot : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 32) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    uint index = 2u * gl_LocalInvocationIndex;
    uint core = 0u, older = 0u;
    switch (gl_SubgroupInvocationID & 3u) {
    case 3u:
        result[index] = 1u;
    case 1u:
    case 0u:
        core = subgroupBallot(true).x;
        older = uint(ballotARB(true));
        break;
    default:
        break;
    }
    result[index] = core;
    result[index + 1u] = older;
}
