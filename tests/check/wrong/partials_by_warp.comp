// Sum of a workgroup; its warps are numbered and counted by hand, and the size can be specialized.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint WARP = 32u;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint partial[128];
void main() {
    uint t = gl_LocalInvocationIndex;
    uint sum = subgroupAdd(x[gl_GlobalInvocationID.x]);
    if ((t & (WARP - 1u)) == 0u) // expect: assumes
        partial[t / WARP] = sum; // expect: assumes
    barrier();
    if (t == 0u) {
        for (uint k = 1u; k < gl_WorkGroupSize.x / WARP; ++k)
            sum += partial[k];
        sums[gl_WorkGroupID.x] = sum;
    }
}
