#version 460
// Statistics of blocks of four neighbouring lanes, by clustered operations. Needs full subgroups.
// values: one int an invocation. statistics: sum, least, greatest and exclusive-or of the block.
// lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_clustered : require

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { int values[]; };
layout(std430, binding = 1) writeonly buffer Statistics { ivec4 statistics[]; };
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    int value = values[me];
    ivec2 ends = subgroupClusteredMin(ivec2(value, -value), 4);
    statistics[me] = ivec4(subgroupClusteredAdd(value, 4), ends.x, -ends.y, subgroupClusteredXor(value, 4));
    lanes[me] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}
