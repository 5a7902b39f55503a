#version 460
// shader-slang/slang#4824 (2024-08): every invocation zeroes the whole shared array, then stores its own element without a barrier
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main(){ uint i=gl_LocalInvocationIndex; uint z[64];
 for(uint k=0u;k<64u;++k) z[k]=0u;
 s=z;
 s[i]=a[gl_GlobalInvocationID.x];
 barrier();
 b[gl_GlobalInvocationID.x]=s[63u-i]; }
