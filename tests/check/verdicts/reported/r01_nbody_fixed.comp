#version 460
// SaschaWillems/Vulkan#374, corrected: memoryBarrierShared and barrier
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint tile[64];
void main(){ uint i=gl_LocalInvocationIndex, sum=0u;
 tile[i]=a[gl_GlobalInvocationID.x];
 memoryBarrierShared(); barrier();
 for(uint k=0u;k<64u;++k) sum+=tile[k];
 b[gl_GlobalInvocationID.x]=sum; }
