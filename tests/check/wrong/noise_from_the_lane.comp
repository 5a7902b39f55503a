// Dithers values with noise that is seeded by the lane.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { float values[]; };
layout(binding = 1) writeonly buffer Levels { uint levels[]; };
uint hash(uint x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    return x;
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint seed = hash(gl_SubgroupInvocationID + 1u); // expect: diverges
    float noise = float(seed & 255u) / 256.0;
    levels[i] = uint(values[i] * 8.0 + noise); // expect: differs
}
