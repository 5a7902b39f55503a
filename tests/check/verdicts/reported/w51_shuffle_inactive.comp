#version 460
// planetis-m/compute-sim#18 (2025-02): shuffle from an inactive lane is expected to give zero
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
void main(){ uint g=gl_GlobalInvocationID.x, r=0u;
 if((gl_SubgroupInvocationID&1u)==0u)
  r=subgroupShuffle(a[g],gl_SubgroupInvocationID|1u);
 b[g]=r; }
