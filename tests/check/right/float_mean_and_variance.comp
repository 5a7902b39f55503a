// Mean and variance of each workgroup's values; the order of the additions is the device's.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Samples { float samples[]; };
layout(std430, binding = 1) writeonly buffer Moments { vec2 moments[]; };
shared float first[128], second[128];

void main() {
    float x = sqrt(samples[gl_GlobalInvocationID.x]) * 1.1;
    float a = subgroupAdd(x), b = subgroupAdd(x * x);
    if (subgroupElect()) {
        first[gl_SubgroupID] = a;
        second[gl_SubgroupID] = b;
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        float sum = 0.0, squares = 0.0;
        for (uint k = 0u; k < gl_NumSubgroups; ++k) {
            sum += first[k];
            squares += second[k];
        }
        float mean = sum / 128.0;
        moments[gl_WorkGroupID.x] = vec2(mean, squares / 128.0 - mean * mean);
    }
}
