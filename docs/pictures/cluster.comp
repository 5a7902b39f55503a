#version 460
// Clusters: a reduction in each group of four lanes.
// values: one number per invocation. results: the sum of the cluster.
#extension GL_KHR_shader_subgroup_clustered : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint value = values[i];
    uint sum = subgroupClusteredAdd(value, 4u);
    results[i] = sum;
}
