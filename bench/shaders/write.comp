#version 460
#extension GL_EXT_control_flow_attributes : require
// Writes memory with stores of 16 bytes: word i becomes i + first. Blocks are assigned as in copy.comp.
//
// binding 0 and 1 are the same memory as vectors and as words.
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint ITEMS = 4u;  // vectors of one invocation in one block
layout(std430, binding = 0) writeonly buffer Target { uvec4 target[]; };
layout(std430, binding = 1) writeonly buffer TargetWords { uint target_words[]; };
layout(push_constant) uniform Push { uint count; uint first; } push;  // words

void main() {
    const uint local = gl_LocalInvocationID.x, block = gl_WorkGroupSize.x * ITEMS, vectors = push.count / 4u;
    for (uint start = gl_WorkGroupID.x * block; start < vectors; start += gl_NumWorkGroups.x * block) {
        [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
            const uint at = start + local + i * gl_WorkGroupSize.x;
            if (at < vectors) target[at] = at * 4u + push.first + uvec4(0u, 1u, 2u, 3u);
        }
    }
    const uint rest = vectors * 4u + local;
    if (gl_WorkGroupID.x == 0u && rest < push.count) target_words[rest] = rest + push.first;
}
