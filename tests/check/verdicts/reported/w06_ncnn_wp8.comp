#version 460
// Tencent/ncnn#2483 (review 2025-06): guard on gx*8 lets the last block of 8 run past 100 outputs
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { float a[100]; };
layout(std430, binding = 1) writeonly buffer B { float b[100]; };
void main(){ uint gx=gl_GlobalInvocationID.x;
 if(gx*8u>=100u) return;
 for(uint k=0u;k<8u;++k)
  b[gx*8u+k]=2.0*a[min(gx*8u+k,99u)]; }
