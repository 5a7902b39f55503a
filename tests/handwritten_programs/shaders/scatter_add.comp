#version 460
// Floats added into bins by float atomics.
// values: one float an invocation. bins: of each. sums: one float a bin; 0 before.
#extension GL_EXT_shader_atomic_float : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) readonly buffer Bins { uint bins[]; };
layout(std430, binding = 2) buffer Sums { float sums[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    atomicAdd(sums[bins[me]], values[me]);
}
