#version 460
// Lavapipe 25.0.7: invocations end at the second subgroupBarrier() in a branch that some subgroups take.
// result: zeros before; after, 1 in every word: each subgroup has passed both barriers, or taken the other
// branch. An affected driver leaves 0 in the words of the first subgroup.
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    if (gl_SubgroupID == 0u) {
        subgroupBarrier();
        result[index] = 0u;
        subgroupBarrier();
        result[index] = 1u;
    } else {
        result[index] = 1u;
    }
}
