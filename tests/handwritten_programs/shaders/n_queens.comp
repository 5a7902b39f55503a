#version 460
// Ways to put seven queens on a board of 7 x 7: each invocation takes one pair of places in the first two rows and
// searches the rest with bit masks and a stack of its own.
// ways: of each invocation. total: all of them; 0 before.

layout(local_size_x = 7, local_size_y = 7) in;
layout(std430, binding = 0) writeonly buffer Ways { uint ways[]; };
layout(std430, binding = 1) buffer Total { uint total; };

const uint N = gl_WorkGroupSize.x, ALL = (1u << N) - 1u;

void main() {
    uint first = 1u << gl_LocalInvocationID.x, second = 1u << gl_LocalInvocationID.y, found = 0u;
    if ((second & (first | first << 1 | first >> 1)) == 0u) {
        // Of each row: columns taken, diagonals to the left and right, and the places still to be tried.
        uvec4 stack[N + 1u];
        uvec3 taken = uvec3(first | second, (first << 1 | second) << 1, (first >> 1 | second) >> 1);
        int depth = 0;
        stack[0] = uvec4(taken, ALL & ~(taken.x | taken.y | taken.z));
        while (depth >= 0) {
            uint free = stack[depth].w;
            if (free == 0u) {
                depth--;
                continue;
            }
            uint queen = free & -free;
            stack[depth].w = free ^ queen;
            taken = stack[depth].xyz;
            taken = uvec3(taken.x | queen, (taken.y | queen) << 1, (taken.z | queen) >> 1);
            if (taken.x == ALL) {
                found++;
                continue;
            }
            depth++;
            stack[depth] = uvec4(taken, ALL & ~(taken.x | taken.y | taken.z));
        }
    }
    ways[gl_LocalInvocationIndex] = found;
    atomicAdd(total, found);
}
