#version 460
// Hashes in 64-bit integers: FNV-1a of eight bytes, and the mixing function of splitmix64; with the usual operations on
// 64-bit integers beside them.
// keys: one uint64 an invocation. hashes: FNV-1a. mixed: splitmix64's output for the key as state.
// arithmetic: key / divisor, key % divisor, signed min and max of key and hash, as uint64.
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint64_t divisor; };
layout(std430, binding = 0) readonly buffer Keys { uint64_t keys[]; };
layout(std430, binding = 1) writeonly buffer Hashes { uint64_t hashes[]; };
layout(std430, binding = 2) writeonly buffer Mixed { uint64_t mixed[]; };
layout(std430, binding = 3) writeonly buffer Arithmetic { u64vec4 arithmetic[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    uint64_t key = keys[me], hash = 0xcbf29ce484222325ul;
    for (uint byte = 0u; byte < 8u; byte++) {
        hash ^= key >> 8u * byte & 0xfful;
        hash *= 0x100000001b3ul;
    }
    hashes[me] = hash;
    uint64_t z = key + 0x9e3779b97f4a7c15ul;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ z >> 27) * 0x94d049bb133111ebul;
    mixed[me] = z ^ z >> 31;
    int64_t a = int64_t(key), b = int64_t(hash);
    arithmetic[me] = u64vec4(key / divisor, key % divisor, min(a, b), max(a, b));
}
