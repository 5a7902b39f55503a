#version 460
// gfx-rs/naga#2424 (2023-08): barriers of a scan inside if (i < 64) in a group of 256
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main(){ uint i=gl_LocalInvocationIndex;
 if(i<64u){
  s[i]=a[i];
  barrier();
  for(uint d=1u;d<64u;d<<=1){ uint v=i>=d?s[i-d]:0u; barrier(); s[i]+=v; barrier(); }
 }
 b[gl_GlobalInvocationID.x]=s[a[gl_GlobalInvocationID.x]&63u]; }
