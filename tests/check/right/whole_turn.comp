// Passes values round the ring of a subgroup's lanes until they are home again.
// needs: full subgroups
#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer Values { uint values[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint lanes = subgroupMax(gl_SubgroupInvocationID) + 1u;
    uint next = gl_SubgroupInvocationID + 1u == lanes ? 0u : gl_SubgroupInvocationID + 1u;
    uint v = values[i];
    for (uint step = 0u; step < lanes; ++step)
        v = subgroupShuffle(v, next);
    values[i] = v + 1u;
}
