// Index of the first value above a threshold: smallest within the subgroup, then one atomic.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) buffer Hit { uint not_before; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    bool hit = values[i] > 0.9;
    uint nearest = subgroupMin(hit ? i : 0xffffffffu);
    if (nearest != 0xffffffffu && subgroupElect())
        atomicMax(not_before, ~nearest);
}
