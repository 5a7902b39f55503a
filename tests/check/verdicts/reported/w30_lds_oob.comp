#version 460
// shadps4-emu/shadPS4#4796 (2026-08): load past the end of the shared array
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main(){ uint i=gl_LocalInvocationIndex;
 s[i]=a[gl_GlobalInvocationID.x];
 barrier();
 b[gl_GlobalInvocationID.x]=s[i+4u]; }
