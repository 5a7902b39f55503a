// Histogram with 64 bins of each workgroup, in shared memory.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Samples { uint samples[]; };
layout(std430, binding = 1) buffer Bins { uint bins[64]; };

shared uint local_bins[64]; // expect: undefined

void main() {
    uint t = gl_LocalInvocationIndex;
    atomicAdd(local_bins[samples[gl_GlobalInvocationID.x] & 63u], 1u);
    barrier();
    atomicAdd(bins[t], local_bins[t]);
}
