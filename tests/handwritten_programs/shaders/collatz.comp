#version 460
// Steps of the Collatz sequence to 1, and its greatest member; invocations take very different numbers of steps.
// results: for n = first, first + 1, …: steps and greatest member. most_steps: the most steps of all; 0 before.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint first; };
layout(std430, binding = 0) writeonly buffer Results { uvec2 results[]; };
layout(std430, binding = 1) buffer Most { uint most_steps; };

void main() {
    uint n = first + gl_GlobalInvocationID.x, steps = 0u, greatest = n;
    do {
        if (n == 1u) break;
        n = (n & 1u) == 0u ? n / 2u : 3u * n + 1u;
        greatest = max(greatest, n);
        steps++;
    } while (true);
    results[gl_GlobalInvocationID.x] = uvec2(steps, greatest);
    uint most = subgroupMax(steps);
    if (subgroupElect()) atomicMax(most_steps, most);
}
