#version 460
// mrdoob/three.js#33185 (2026-03): 64 invocations write a buffer of 42 elements, no bounds check
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer P { vec4 p[42]; };
void main(){ uint i=gl_GlobalInvocationID.x;
 p[i]=vec4(float(i),0,0,0); }
