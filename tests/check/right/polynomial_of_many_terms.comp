// Transcendental functions and a polynomial, whose last bits are the device's.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { vec4 y[]; };
void main() {
    float v = x[gl_GlobalInvocationID.x];
    float p = 0.0;
    for (int k = 8; k > 0; --k)
        p = p * v + 1.0 / float(k);
    y[gl_GlobalInvocationID.x] = vec4(sin(3.0 * v) * exp(v), log2(1.0 + v), pow(v, 1.7) + p, atan(v, 0.3));
}
