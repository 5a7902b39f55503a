#version 460
// shader-slang/slang#586 (2018): the group barrier orders shared memory only, but a buffer is written and then atomically added to by another invocation
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
void main(){ uint g=gl_GlobalInvocationID.x;
 b[g]=a[g];
 barrier();
 atomicAdd(b[g^1u],g); }
