#version 460
// KhronosGroup/SPIRV-Cross#1521, corrected: subgroupBarrier(); only a commutative total leaves the subgroup
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[128]; shared uint total;
void main(){ uint k=gl_SubgroupID*gl_SubgroupSize+gl_SubgroupInvocationID;
 if(gl_LocalInvocationIndex==0u) total=0u;
 s[k]=a[gl_GlobalInvocationID.x]; 
 barrier();
 uint o=k^1u; if(o<64u && gl_SubgroupSize>1u) { subgroupBarrier(); atomicAdd(total,s[o]); } else atomicAdd(total,s[o]);
 barrier();
 b[gl_GlobalInvocationID.x]=total; }
