#version 460
// KhronosGroup/Vulkan-ValidationLayers#12415 (2026-06): right pair sum in shared memory accused by GPU-AV
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main(){ uint i=gl_LocalInvocationIndex;
 s[i]=a[gl_GlobalInvocationID.x];
 barrier();
 if((i&1u)==0u){ uint x=s[i],y=s[i+1u]; s[i]=x+y; }
 barrier();
 b[gl_GlobalInvocationID.x]=s[i]; }
