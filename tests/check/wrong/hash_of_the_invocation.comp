// Each subgroup takes one value from a place that its first invocation's hash tells: the shift is no size.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Table { uint table[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint value = table[(i * 2654435761u >> 5) % uint(table.length())];
    results[i] = subgroupBroadcastFirst(value); // expect: differs, diverges
}
