#version 460
// JuliaGPU/AcceleratedKernels.jl#98 (2026-07): aggregate and flag of a chained scan published without a fence
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) coherent buffer F { uint flag[4]; uint agg[4]; };
void main(){ uint w=gl_WorkGroupID.x; if(gl_LocalInvocationIndex!=0u) return;
 uint mine=a[w]&255u;
 uint prev=0u;
 if(w>0u && atomicAdd(flag[w-1u],0u)==77u)
  prev=agg[w-1u];
 agg[w]=mine;
 atomicExchange(flag[w],77u);
 b[w]=prev*0u+mine; }
