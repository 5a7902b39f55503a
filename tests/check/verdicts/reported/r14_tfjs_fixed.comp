#version 460
// tensorflow/tfjs#4767, corrected: barrier in each round
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main(){ uint i=gl_LocalInvocationIndex;
 s[i]=a[gl_GlobalInvocationID.x];
 for(uint n=32u;n>0u;n>>=1){
  barrier();
  if(i<n) s[i]=max(s[i],s[i+n]);
 }
 barrier();
 b[gl_GlobalInvocationID.x]=s[0]; }
