#version 460
// SaschaWillems/Vulkan#748 (2020): invocation 0 resets the draw count atomically while others already add
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint drawCount; };
void main(){ uint i=gl_GlobalInvocationID.x;
 if(i==0u) atomicExchange(drawCount,0u);
 if((a[i]&1u)==0u){ b[i]=1u; atomicAdd(drawCount,1u); }
 else b[i]=0u; }
