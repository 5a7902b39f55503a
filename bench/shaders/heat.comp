#version 460
// Keeps every multiprocessor at work without touching memory: multiplications and additions, one after the other.
//
// result: takes a number that is of no use; a device that could see that nothing is written could leave the
// work out. turns: how many times each invocation goes round.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer Result { float result; };
layout(push_constant) uniform Push { uint turns; };

void main() {
    vec4 x = vec4(gl_GlobalInvocationID.x) * vec4(1.0, 0.5, 0.25, 0.125);
    for (uint turn = 0u; turn < turns; ++turn)
        x = fma(x, vec4(0.999), vec4(0.001));
    // All of x tends to 1, so no invocation writes; but that takes more than a compiler to know.
    if (x.x + x.y + x.z + x.w == 12345.0) result = x.x;
}
