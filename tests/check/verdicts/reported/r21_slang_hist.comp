#version 460
// shader-slang/slang#5894 (2024-12): right histogram that a driver broke
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint h[64];
void main(){ uint i=gl_LocalInvocationIndex;
 h[i]=0u; barrier();
 atomicAdd(h[a[gl_GlobalInvocationID.x]&63u],1u);
 barrier();
 b[gl_GlobalInvocationID.x]=h[i]; }
