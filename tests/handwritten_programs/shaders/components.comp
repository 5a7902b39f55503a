#version 460
// Connected components of a graph of up to 256 vertices by one workgroup: labels sink by atomicMin along the edges and
// by pointer jumping, until nothing changes.
// edges: pairs of vertices. labels: the lowest vertex of each vertex's component.

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Edges { uvec2 edges[]; };
layout(std430, binding = 1) writeonly buffer Labels { uint labels[]; };

shared uint label[gl_WorkGroupSize.x], lowest[gl_WorkGroupSize.x];
shared uint changed;

void main() {
    uint me = gl_LocalInvocationIndex, edge_count = uint(edges.length());
    lowest[me] = me;
    bool go_on = true;
    while (go_on) {
        label[me] = lowest[me];
        barrier();
        uint low = me;
        for (uint hops = 0u; hops < 4u; hops++) low = label[low];
        barrier();
        label[me] = low;
        lowest[me] = low;
        if (me == 0u) changed = 0u;
        barrier();
        for (uint k = me; k < edge_count; k += gl_WorkGroupSize.x) {
            uint a = label[edges[k].x], b = label[edges[k].y];
            if (a == b) continue;
            atomicMin(lowest[edges[k].x], b);
            atomicMin(lowest[edges[k].y], a);
            atomicMin(lowest[max(a, b)], min(a, b));
            atomicOr(changed, 1u);
        }
        barrier();
        go_on = changed != 0u;
    }
    labels[me] = label[me];
}
