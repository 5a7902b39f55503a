#version 460
// Subgroup sizes: 20 invocations in subgroups of 4, 8 or 16, of which the last may not be full.
// results: the number of lanes in the subgroup.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 20) in;
layout(std430, binding = 0) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    // vkgroup: allow(differs): depends on the size
    results[i] = subgroupAdd(1u);
}
