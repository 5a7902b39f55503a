// Sum of each workgroup: one shared atomic a subgroup.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint sum;
void main() {
    if (gl_LocalInvocationIndex == 0u)
        sum = 0u;
    barrier();
    uint part = subgroupAdd(x[gl_GlobalInvocationID.x]);
    if (subgroupElect())
        atomicAdd(sum, part);
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        sums[gl_WorkGroupID.x] = sum;
}
