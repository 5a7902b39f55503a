#version 460
// Distance of every node of linked lists to its list's end, by pointer jumping.
// next: each node's successor; the last one's is itself. ranks: links to the end. ends: the last node.

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Next { uint next[]; };
layout(std430, binding = 1) writeonly buffer Ranks { uint ranks[]; };
layout(std430, binding = 2) writeonly buffer Ends { uint ends[]; };

struct Link {
    uint to;
    uint distance;
};
shared Link links[gl_WorkGroupSize.x];

void main() {
    uint me = gl_LocalInvocationIndex;
    Link link = Link(next[me], next[me] == me ? 0u : 1u);
    links[me] = link;
    for (uint reach = 1u; reach < gl_WorkGroupSize.x; reach *= 2u) {
        barrier();
        Link further = links[link.to];
        barrier();
        link = Link(further.to, link.distance + further.distance);
        links[me] = link;
    }
    ranks[me] = link.distance;
    ends[me] = link.to;
}
