#version 460
// gfx-rs/wgpu#2408, gfx-rs/naga#1677 (2022): groupMemoryBarrier() alone between the shared store and the load
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main(){ uint i=gl_LocalInvocationIndex;
 s[i]=a[gl_GlobalInvocationID.x];
 groupMemoryBarrier();
 b[gl_GlobalInvocationID.x]=s[63u-i]; }
