#version 460
// The average of each row of 64 values.
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { float value[]; };
layout(std430, binding = 1) writeonly buffer Averages { float average[]; };

shared float part[64]; // enough for subgroups of one invocation

void main() {
    float sum = subgroupAdd(value[gl_GlobalInvocationID.x]);
    if (subgroupElect())
        part[gl_SubgroupID] = sum;
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        float total = 0.0;
        for (uint k = 0u; k < gl_NumSubgroups; ++k)
            total += part[k];
        average[gl_WorkGroupID.x] = total / 64.0;
    }
}
