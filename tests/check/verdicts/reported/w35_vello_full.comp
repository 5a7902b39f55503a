#version 460
// linebender/vello#1686, variant: the bin is y*width+x computed from the invocation, 300 bins in 256
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
shared uint bits[256];
void main(){ uint i=gl_LocalInvocationIndex;
 for(uint k=i;k<300u;k+=64u) bits[k]=0u;
 barrier();
 b[gl_GlobalInvocationID.x]=bits[i]; }
