#version 460
// The average of each row of 64 values, on its author's GPU.
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { float value[]; };
layout(std430, binding = 1) writeonly buffer Averages { float average[]; };

void main() {
    float sum = subgroupAdd(value[gl_GlobalInvocationID.x]);
    if (gl_LocalInvocationIndex == 0u)
        average[gl_WorkGroupID.x] = sum / 64.0;
}
