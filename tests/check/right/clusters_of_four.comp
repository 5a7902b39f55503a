// Total of the largest values of clusters of one lane, that is of all values.
#version 460
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) buffer Total { uint total; };
void main() {
    uint v = subgroupClusteredMax(values[gl_GlobalInvocationID.x], 1u);
    uint sum = subgroupAdd(v);
    if (subgroupElect())
        atomicAdd(total, sum);
}
