#version 460
// shader-slang/slang#586, corrected: values in shared memory
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main(){ uint g=gl_GlobalInvocationID.x,i=gl_LocalInvocationIndex;
 s[i]=a[g];
 barrier();
 atomicAdd(s[i^1u],g);
 barrier();
 b[g]=s[i]; }
