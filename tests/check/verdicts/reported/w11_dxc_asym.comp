#version 460
// microsoft/DirectXShaderCompiler#3806 (2021): shared memory initialised and read asymmetrically, so uninitialised elements are read
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint bins[128];
void main(){ uint g=gl_GlobalInvocationID.x,i=gl_LocalInvocationIndex;
 bins[i]=0u;
 barrier();
 atomicAdd(bins[a[g]&127u],1u);
 barrier();
 b[g]=bins[i]+bins[i+64u]; }
