// Five exclusive scans of vectors of 16-bit integers: Turnip crashes. Compile it, also without the GPU:
// vkgroup cost shaders/findings/exclusive_scans_of_vectors.comp --device turnip:830
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_subgroup_extended_types_int16 : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;

// Four words for each invocation and vector: before, the components; after, their scans.
layout(binding = 0) buffer Data { uint data[]; };

i16vec4 load(uint vector) {
    uint first = vector * 256u + gl_LocalInvocationIndex;
    return i16vec4(data[first], data[first + 64u], data[first + 128u], data[first + 192u]);
}

void store(uint vector, i16vec4 value) {
    uint first = vector * 256u + gl_LocalInvocationIndex;
    data[first] = uint(value.x);
    data[first + 64u] = uint(value.y);
    data[first + 128u] = uint(value.z);
    data[first + 192u] = uint(value.w);
}

void main() {
    i16vec4 a = load(0u);
    i16vec4 b = load(1u);
    i16vec4 c = load(2u);
    i16vec4 d = load(3u);
    i16vec4 e = load(4u);
    if (gl_SubgroupInvocationID < 5u) {
        store(0u, subgroupExclusiveXor(a));
        store(1u, subgroupExclusiveAnd(b));
        store(2u, subgroupExclusiveMul(c));
        store(3u, subgroupExclusiveOr(d));
        store(4u, subgroupExclusiveAdd(e));
    }
}
