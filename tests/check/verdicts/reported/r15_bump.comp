#version 460
// gfx-rs/wgpu#3181 (2022): right shader that a compiler broke: last invocation bump-allocates and broadcasts by shared memory
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint top; };
shared uint base;
void main(){ uint i=gl_LocalInvocationIndex;
 if(i==63u) base=atomicAdd(top,64u);
 barrier();
 uint at=base+i;
 if(at<256u) b[at]=7u; }
