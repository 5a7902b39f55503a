// Histogram of a workgroup with 16 bins.
#version 460
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer Samples { uint samples[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Bins { uint bins[]; };
shared uint count[16];
void main() {
    uint t = gl_LocalInvocationIndex;
    if (t < 16u)
        count[t] = 0u;
    barrier();
    count[samples[gl_GlobalInvocationID.x] & 15u]++; // expect: race
    barrier();
    if (t < 16u)
        bins[gl_WorkGroupID.x * 16u + t] = count[t];
}
