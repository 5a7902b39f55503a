// The first workgroup passes a number to the others by a flag.
#version 460
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Message { uint flag; uint number; };
layout(std430, binding = 2) buffer Output { uint y[]; };
void main() {
    if (gl_LocalInvocationIndex != 0u)
        return;
    if (gl_WorkGroupID.x == 0u) {
        number = x[0] + 1u;
        atomicStore(flag, 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    } else {
        bool known = false;
        for (uint k = 0u; k < 1000u && !known; ++k)
            known = atomicLoad(flag, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire) == 1u;
        if (known)
            atomicMax(y[0], number - x[0]);
    }
}
