// Each invocation reads its neighbour's number, which was not made available.
#version 460
#extension GL_KHR_memory_scope_semantics : require
#pragma use_vulkan_memory_model
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) nonprivate buffer Cells { uint cell[]; };
layout(std430, binding = 2) buffer Output { uint y[]; };
void main() {
    uint g = gl_GlobalInvocationID.x;
    cell[g] = x[g];
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    y[g] = cell[g ^ 1u]; // expect: race
}
