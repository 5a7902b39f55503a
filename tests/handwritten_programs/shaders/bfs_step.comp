#version 460
// One step of a breadth-first search: every vertex of the frontier claims its unvisited neighbours.
// starts, neighbours: the graph, adjacency lists one after the other. depths: UNVISITED or the depth. frontier: the
// vertices of the last step. next_count, next: those of this step, in any order; 0 before.

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint frontier_count, depth; };
layout(std430, binding = 0) readonly buffer Starts { uint starts[]; };
layout(std430, binding = 1) readonly buffer Neighbours { uint neighbours[]; };
layout(std430, binding = 2) buffer Depths { uint depths[]; };
layout(std430, binding = 3) readonly buffer Frontier { uint frontier[]; };
layout(std430, binding = 4) buffer Next {
    uint next_count;
    uint next[];
};

const uint UNVISITED = 0xffffffffu;

void main() {
    if (gl_GlobalInvocationID.x >= frontier_count) return;
    uint vertex = frontier[gl_GlobalInvocationID.x];
    for (uint k = starts[vertex]; k < starts[vertex + 1u]; k++) {
        uint neighbour = neighbours[k];
        uint before = atomicCompSwap(depths[neighbour], UNVISITED, depth);
        if (before == UNVISITED) next[atomicAdd(next_count, 1u)] = neighbour;
    }
}
