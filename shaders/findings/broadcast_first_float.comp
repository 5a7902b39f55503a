#version 460
// subgroupBroadcastFirst of a computed float, with the result used in a branch.
// An affected driver ends the process ("LLVM ERROR: Cannot select").
// result: zeros before; after, the bits of 2 in lanes from 4 on, zero in the others.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    float own = uintBitsToFloat(result[gl_LocalInvocationIndex]) + 2.0;
    float first = subgroupBroadcastFirst(own);
    float kept = 0.0;
    if (gl_SubgroupInvocationID > 3u) {
        kept = first;
    }
    result[gl_LocalInvocationIndex] = floatBitsToUint(kept);
}
