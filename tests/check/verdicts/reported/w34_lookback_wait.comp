#version 460
// JuliaGPU/AcceleratedKernels.jl#98, second form: consumer waits for the flag in a bounded loop, no fences
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) coherent buffer F { uint agg[4]; };
layout(std430, binding = 3) buffer G { uint flag[4]; };
shared uint ok;
void main(){ uint w=gl_WorkGroupID.x;
 if(gl_LocalInvocationIndex==0u){
  agg[w]=a[w]; atomicExchange(flag[w],77u);
  uint got=0u;
  if(w>0u) for(uint t=0u;t<1000u;++t) if(atomicAdd(flag[w-1u],0u)==77u){ got=agg[w-1u]; break; }
  b[w]=got; } }
