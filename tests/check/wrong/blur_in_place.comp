// Three-point blur of a signal, on the spot.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Signal { float v[]; } signal;
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint last = signal.v.length() - 1;
    float left = signal.v[i == 0 ? 0 : i - 1];
    float right = signal.v[min(i + 1, last)];
    signal.v[i] = 0.25 * left + 0.5 * signal.v[i] + 0.25 * right; // expect: race
}
