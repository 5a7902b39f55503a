#version 460
// JuliaGPU/AcceleratedKernels.jl#98, corrected: fences on both sides
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) coherent buffer F { uint agg[4]; };
layout(std430, binding = 3) buffer G { uint flag[4]; };
void main(){ uint w=gl_WorkGroupID.x;
 if(gl_LocalInvocationIndex==0u){
  agg[w]=a[w]; memoryBarrierBuffer(); atomicExchange(flag[w],77u);
  uint got=0u;
  if(w>0u) for(;;) if(atomicAdd(flag[w-1u],0u)==77u){ memoryBarrierBuffer(); got=agg[w-1u]; break; }
  b[w]=got; } }
