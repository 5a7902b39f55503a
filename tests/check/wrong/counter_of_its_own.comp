// Each invocation releases its number by a counter that no other invocation reads.
#version 460
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) coherent buffer Cells { uint cell[]; };
layout(std430, binding = 2) buffer Counters { uint counter[]; };
layout(std430, binding = 3) buffer Output { uint y[]; };
void main() {
    uint g = gl_GlobalInvocationID.x;
    cell[g] = x[g];
    atomicAdd(counter[g], 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    y[g] = cell[(g + 64u) % (64u * gl_NumWorkGroups.x)]; // expect: race
}
