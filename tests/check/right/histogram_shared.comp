// Histogram with 64 bins: counted in shared memory, then added to the result.
#version 460
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Samples { uint samples[]; };
layout(std430, binding = 1) buffer Bins { uint bins[64]; };
shared uint mine[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    for (uint b = t; b < 64u; b += gl_WorkGroupSize.x)
        mine[b] = 0u;
    barrier();
    atomicAdd(mine[samples[gl_GlobalInvocationID.x] & 63u], 1u);
    barrier();
    if (t < 64u && mine[t] > 0u)
        atomicAdd(bins[t], mine[t]);
}
