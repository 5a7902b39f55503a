#version 460
// microsoft/DirectXShaderCompiler#65 (2017): every invocation stores its own struct to one shared variable
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
struct Foo{ uint x,y,z,d; };
shared Foo f;
void main(){ uint g=gl_GlobalInvocationID.x;
 f=Foo(a[g],a[g]+1u,a[g]+2u,a[g]+3u);
 uint old=atomicAdd(f.d,a[g]);
 b[g]=old+f.d; }
