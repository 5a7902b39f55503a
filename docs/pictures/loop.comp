#version 460
// Divergence in a loop: lanes leave it in different rounds and meet after it.
// results: the lanes in the last round, and after the loop.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) writeonly buffer Results { uint results[]; };

void main() {
    uint left = gl_SubgroupInvocationID % 3u;
    uint inside = 0u;
    while (left > 0u) {
        inside = subgroupAdd(1u);
        left -= 1u;
    }
    uint after = subgroupAdd(1u);
    results[gl_LocalInvocationIndex] = inside + after;
}
