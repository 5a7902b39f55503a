#version 460
// reeselevine/webgpu-litmus#39 (2021), barrier after the read of the broadcast flag left out: the next round overwrites it
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint flag;
void main(){ uint i=gl_LocalInvocationIndex, sum=0u;
 for(uint r=0u;r<3u;++r){
  if(i==0u) flag=a[gl_WorkGroupID.x*64u+r];
  barrier();
  sum+=flag;
 }
 b[gl_GlobalInvocationID.x]=sum; }
