#version 460
#extension GL_EXT_control_flow_attributes : require
// Copies memory with loads and stores of 16 bytes: the ceiling of work that reads and writes the same amount.
//
// A workgroup copies every gl_NumWorkGroups-th block of WORKGROUP * ITEMS vectors. Adjacent invocations
// access adjacent vectors, and an invocation does ITEMS loads before its first store. binding 0, 1  source
// and target as vectors of 16 bytes binding 2, 3  the same memory as words, for up to three words after the
// last whole vector
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint ITEMS = 4u;  // vectors of one invocation in one block
layout(std430, binding = 0) readonly buffer Source { uvec4 source[]; };
layout(std430, binding = 1) writeonly buffer Target { uvec4 target[]; };
layout(std430, binding = 2) readonly buffer SourceWords { uint source_words[]; };
layout(std430, binding = 3) writeonly buffer TargetWords { uint target_words[]; };
layout(push_constant) uniform Push { uint count; } push;  // words

void main() {
    const uint local = gl_LocalInvocationID.x, block = gl_WorkGroupSize.x * ITEMS, vectors = push.count / 4u;
    for (uint first = gl_WorkGroupID.x * block; first < vectors; first += gl_NumWorkGroups.x * block) {
        uint at = first + local;
        uvec4 held[ITEMS];
        if (first + block <= vectors) {
            [[unroll]] for (uint i = 0u; i < ITEMS; ++i) held[i] = source[at + i * gl_WorkGroupSize.x];
            [[unroll]] for (uint i = 0u; i < ITEMS; ++i) target[at + i * gl_WorkGroupSize.x] = held[i];
        } else {
            for (; at < vectors; at += gl_WorkGroupSize.x) target[at] = source[at];
        }
    }
    const uint rest = vectors * 4u + local;
    if (gl_WorkGroupID.x == 0u && rest < push.count) target_words[rest] = source_words[rest];
}
