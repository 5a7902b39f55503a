#version 460
// linebender/vello#223 (2022-12): the same with an atomic store (WGSL version): no data race, but the result depends on the order
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint bm[64];
void main(){ uint i=gl_LocalInvocationIndex;
 atomicExchange(bm[i],0u);
 atomicOr(bm[a[gl_GlobalInvocationID.x]&63u],1u<<(i&31u));
 barrier();
 b[gl_GlobalInvocationID.x]=bm[i]; }
