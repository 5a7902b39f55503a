#version 460
// KhronosGroup/SPIRV-Cross#1521 (2020): subgroupBarrier emulated by nothing, as the lanes are said to be in lockstep
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[128];
void main(){ uint k=gl_SubgroupID*gl_SubgroupSize+gl_SubgroupInvocationID;
 s[k]=a[gl_GlobalInvocationID.x];
 b[gl_GlobalInvocationID.x]=gl_SubgroupInvocationID>0u ? s[k-1u] : 0u; }
