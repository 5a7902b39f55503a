// Sum of a workgroup in shared memory. Below 32 values no barrier is used, as CUDA samples once taught.
#version 460
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Input { uint g_in[]; };
layout(std430, binding = 1) writeonly buffer Output { uint g_out[]; };

shared uint sdata[128];

void main() {
    uint tid = gl_LocalInvocationID.x;
    sdata[tid] = g_in[gl_GlobalInvocationID.x];
    barrier();
    for (uint s = 64u; s > 32u; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        barrier();
    }
    if (tid < 32u) {
        sdata[tid] += sdata[tid + 32];
        sdata[tid] += sdata[tid + 16]; // expect: race
        sdata[tid] += sdata[tid + 8]; // expect: race
        sdata[tid] += sdata[tid + 4]; // expect: race
        sdata[tid] += sdata[tid + 2]; // expect: race
        sdata[tid] += sdata[tid + 1]; // expect: race
    }
    if (tid == 0u) g_out[gl_WorkGroupID.x] = sdata[0];
}
