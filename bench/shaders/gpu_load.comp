#version 460
// Keeps every multiprocessor busy without memory accesses: dependent multiplications and additions.
//
// result: receives an unused number, since a compiler could remove the work if nothing were written.
// iterations: number of iterations per invocation.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer Result { float result; };
layout(push_constant) uniform Push { uint iterations; };

void main() {
    vec4 x = vec4(gl_GlobalInvocationID.x) * vec4(1.0, 0.5, 0.25, 0.125);
    for (uint i = 0u; i < iterations; ++i)
        x = fma(x, vec4(0.999), vec4(0.001));
    // Never true, since all components of x tend to 1, but the compiler cannot prove it.
    if (x.x + x.y + x.z + x.w == 12345.0) result = x.x;
}
