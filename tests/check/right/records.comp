// Moves records of mixed types, as a C structure has them.
#version 460
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 32) in;
struct Inner { ivec2 cell; float weight[3]; };
struct Record { uint id; vec3 position; Inner inner[2]; mat2x3 frame; };
layout(scalar, binding = 0) readonly buffer Source { Record source[]; };
layout(scalar, binding = 1) writeonly buffer Target { uint header; Record target[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    Record r = source[i];
    r.position = r.frame * r.position.xy + r.position;
    r.inner[i & 1u].weight[i % 3u] *= 2.0;
    r.inner[1].cell = r.inner[0].cell.yx;
    r.id ^= 0x55u;
    target[i] = r;
}
