#version 460
// linebender/vello#1686 (2026-05): 300 bins index a shared array of 256
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint bits[256];
void main(){ uint i=gl_LocalInvocationIndex;
 for(uint k=i;k<256u;k+=64u) bits[k]=0u;
 barrier();
 uint x=a[gl_GlobalInvocationID.x]%20u, y=(a[gl_GlobalInvocationID.x]/20u)%15u;
 atomicOr(bits[y*20u+x],1u<<(i&31u));
 barrier();
 b[gl_GlobalInvocationID.x]=bits[i]; }
