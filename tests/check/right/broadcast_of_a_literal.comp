// Lane 0 of each subgroup, which is always there, hands out a salt that comes from a uniform block.
// needs: full subgroups
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(std140, binding = 0) uniform Settings { uint salt; vec3 unused; };
layout(std430, binding = 1) buffer Values { uint values[]; };
void main() {
    uint mine = gl_SubgroupInvocationID == 0u ? salt : 0u;
    uint all = subgroupBroadcast(mine, 0u);
    values[gl_GlobalInvocationID.x] ^= all * 2654435761u;
}
