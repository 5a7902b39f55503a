// Adds weights up exactly, in fixed point, whatever the order.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Weights { float weights[]; };
layout(std430, binding = 1) buffer Sum { int fixed_point; };
void main() {
    int w = int(round(weights[gl_GlobalInvocationID.x] * 1024.0));
    atomicAdd(fixed_point, w);
}
