// One step of a breadth-first search in a graph whose vertex v has the neighbours 2v+1, 2v+2 and v/2.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Frontier { uint frontier[]; };
layout(std430, binding = 1) buffer Distance { uint reached[256]; };
layout(std430, binding = 2) buffer Next { uint size; uint vertex[]; } next;
layout(push_constant) uniform Push { uint count; };
void visit(uint v) {
    if (v < 256u && atomicOr(reached[v], 1u) == 0u) {
        uint slot = atomicAdd(next.size, 1u);
        next.vertex[slot] = v;
    }
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    uint v = frontier[i];
    visit(2u * v + 1u);
    visit(2u * v + 2u);
    visit(v / 2u);
}
