// Workgroups add to one number, with atomics of the device.
#version 460
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Output { uint sum; };
void main() {
    atomicAdd(sum, x[gl_GlobalInvocationID.x], gl_ScopeDevice, 0, 0);
}
