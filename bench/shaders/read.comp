#version 460
#extension GL_EXT_control_flow_attributes : require
// Reads memory with loads of 16 bytes, and writes the exclusive-or of all words: one word per workgroup.
//
// Blocks are assigned as in copy.comp. Bindings 0 and 1 are the same memory as vectors and as words; binding
// 2 has one word per workgroup.
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint ITEMS = 4u;  // vectors of one invocation in one block
layout(std430, binding = 0) readonly buffer Source { uvec4 source[]; };
layout(std430, binding = 1) readonly buffer SourceWords { uint source_words[]; };
layout(std430, binding = 2) writeonly buffer Result { uint result[]; };
layout(push_constant) uniform Push { uint count; } push;  // words
shared uint all;

void main() {
    const uint local = gl_LocalInvocationID.x, block = gl_WorkGroupSize.x * ITEMS, vectors = push.count / 4u;
    if (local == 0u) all = 0u;
    barrier();
    uvec4 found = uvec4(0u);
    for (uint first = gl_WorkGroupID.x * block; first < vectors; first += gl_NumWorkGroups.x * block) {
        uint at = first + local;
        if (first + block <= vectors) {
            uvec4 held[ITEMS];
            [[unroll]] for (uint i = 0u; i < ITEMS; ++i) held[i] = source[at + i * gl_WorkGroupSize.x];
            [[unroll]] for (uint i = 0u; i < ITEMS; ++i) found ^= held[i];
        } else {
            for (; at < vectors; at += gl_WorkGroupSize.x) found ^= source[at];
        }
    }
    const uint rest = vectors * 4u + local;
    if (gl_WorkGroupID.x == 0u && rest < push.count) found.x ^= source_words[rest];
    // Once per invocation, for any number of reads.
    atomicXor(all, found.x ^ found.y ^ found.z ^ found.w);
    barrier();
    if (local == 0u) result[gl_WorkGroupID.x] = all;
}
