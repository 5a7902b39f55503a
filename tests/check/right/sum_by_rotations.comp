// Sums the values of a workgroup: subgroups add rotated copies of what they have, the elected lanes add atomically.
// needs: full subgroups
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_spirv_intrinsics : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) buffer Totals { uint totals[]; };
spirv_instruction(extensions = ["SPV_KHR_subgroup_rotate"], capabilities = [6026], id = 4431)
uint rotate(uint scope, uint value, uint delta);
void main() {
    uint sum = values[gl_GlobalInvocationID.x];
    for (uint distance = 1u; distance < gl_SubgroupSize; distance *= 2u)
        sum += rotate(3u, sum, distance);
    if (subgroupElect())
        atomicAdd(totals[gl_WorkGroupID.x], sum);
}
