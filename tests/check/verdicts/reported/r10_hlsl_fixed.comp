#version 460
// microsoft/hlsl-specs#174, corrected
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint total;
void main(){ uint g=gl_GlobalInvocationID.x;
 if(gl_LocalInvocationIndex==0u) total=0u;
 barrier();
 atomicAdd(total,a[g]&255u);
 barrier();
 b[g]=total; }
