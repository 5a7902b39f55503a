#version 460
// Convolution with nine weights, from a uniform array whose elements std140 puts 16 bytes apart; with a halo in shared
// memory. Beyond the ends the signal is zero.
// signal: floats. weights: nine. results: as many as the signal.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Signal { float signal[]; };
layout(std140, binding = 1) uniform Weights { float weights[9]; };
layout(std430, binding = 2) writeonly buffer Results { float results[]; };

const int RADIUS = 4;
shared float window[gl_WorkGroupSize.x + 2 * RADIUS];

void main() {
    int length = signal.length(), start = int(gl_WorkGroupID.x * gl_WorkGroupSize.x) - RADIUS;
    for (int k = int(gl_LocalInvocationIndex); k < window.length(); k += int(gl_WorkGroupSize.x)) {
        int at = start + k;
        window[k] = at >= 0 && at < length ? signal[at] : 0.0;
    }
    barrier();
    if (gl_GlobalInvocationID.x >= length) return;
    float sum = 0.0;
    for (int k = 0; k < weights.length(); k++) sum += weights[k] * window[gl_LocalInvocationIndex + k];
    results[gl_GlobalInvocationID.x] = sum;
}
