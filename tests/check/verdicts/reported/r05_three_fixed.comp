#version 460
// mrdoob/three.js#33186 (2026-03), corrected: bounds check
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer P { vec4 p[42]; };
void main(){ uint i=gl_GlobalInvocationID.x;
 if(i>=42u) return;
 p[i]=vec4(float(i),0,0,0); }
