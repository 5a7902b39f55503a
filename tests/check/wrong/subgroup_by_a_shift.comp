// Sum of a workgroup; warps are numbered by hand.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint partial[4];
void main() {
    uint t = gl_LocalInvocationIndex;
    uint sum = subgroupAdd(x[gl_GlobalInvocationID.x]);
    uint warp = t >> 5; // expect: assumes
    if ((t & 31u) == 0u) // expect: assumes
        partial[warp] = sum;
    barrier();
    if (t == 0u)
        sums[gl_WorkGroupID.x] = partial[0] + partial[1] + partial[2] + partial[3];
}
