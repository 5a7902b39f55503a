// Largest value of each workgroup: every 32 invocations share a slot.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
#define WARP 32
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Keys { int keys[]; };
layout(std430, binding = 1) writeonly buffer Largest { int largest[]; };
shared int slots[256 / WARP];
void main() {
    uint t = gl_LocalInvocationID.x;
    int best = subgroupMax(keys[gl_GlobalInvocationID.x]);
    if (t % WARP == 0) // expect: assumes
        slots[t / WARP] = best; // expect: assumes
    barrier();
    if (t == 0) {
        int most = slots[0];
        for (int k = 1; k < 256 / WARP; ++k)
            most = max(most, slots[k]);
        largest[gl_WorkGroupID.x] = most;
    }
}
