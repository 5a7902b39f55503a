// An exclusive scan of 64-bit vectors in a loop while 16-bit values are live: Turnip crashes. Compile it, also without the GPU:
// vkgroup cost shaders/findings/exclusive_scan_int64_in_loop.comp --device turnip:740
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 2) in;

layout(binding = 0) readonly buffer Input { uint words[]; };

// The scans, the scanned vector, and the 16-bit values, of each invocation.
layout(binding = 1) writeonly buffer Result { uint result[]; };

uint next;

void put(i64vec4 v) {
    result[next++] = unpackUint2x32(uint64_t(v.x)).x;
    result[next++] = unpackUint2x32(uint64_t(v.x)).y;
    result[next++] = unpackUint2x32(uint64_t(v.y)).x;
    result[next++] = unpackUint2x32(uint64_t(v.y)).y;
    result[next++] = unpackUint2x32(uint64_t(v.z)).x;
    result[next++] = unpackUint2x32(uint64_t(v.z)).y;
    result[next++] = unpackUint2x32(uint64_t(v.w)).x;
    result[next++] = unpackUint2x32(uint64_t(v.w)).y;
}

void main() {
    next = gl_LocalInvocationIndex * 64u;
    uint word = words[gl_LocalInvocationIndex];
    uint16_t a = uint16_t(word * 3u), b = uint16_t(word * 5u), c = uint16_t(word * 7u), d = uint16_t(word * 9u);
    i64vec4 v = i64vec4(packUint2x32(uvec2(word, word * 7u)), packUint2x32(uvec2(word * 3u + 1u, word * 21u)),
                        packUint2x32(uvec2(word * 5u + 2u, word * 35u)), packUint2x32(uvec2(word * 7u + 3u, word * 49u)));
    if (gl_WorkGroupID.x == 0u) {
        for (uint trip = 0u; trip < 3u; ++trip)
            put(subgroupExclusiveXor(v));
    }
    put(v);
    result[next++] = uint(a);
    result[next++] = uint(b);
    result[next++] = uint(c);
    result[next++] = uint(d);
}
