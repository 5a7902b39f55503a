#version 460
// planetis-m/compute-sim#18 (2025-02): shuffle id past the subgroup is expected to wrap around
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
void main(){ uint g=gl_GlobalInvocationID.x;
 b[g]=subgroupShuffle(a[g],gl_SubgroupInvocationID+1u); }
