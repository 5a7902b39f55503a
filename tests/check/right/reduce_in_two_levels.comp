// Sum of a workgroup at any subgroup size: partial sums in a loop until one is left.
// needs: full subgroups
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_subgroup_uniform_control_flow : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint partial[256];
void main()
[[subgroup_uniform_control_flow]] // only the first subgroup executes the loop
{
    uint sum = subgroupAdd(x[gl_GlobalInvocationID.x]);
    if (subgroupElect())
        partial[gl_SubgroupID] = sum;
    barrier();
    if (gl_SubgroupID == 0u) {
        uint total = 0u;
        for (uint k = gl_SubgroupInvocationID; k < gl_NumSubgroups; k += gl_SubgroupSize)
            total += partial[k];
        total = subgroupAdd(total);
        if (subgroupElect())
            sums[gl_WorkGroupID.x] = total;
    }
}
