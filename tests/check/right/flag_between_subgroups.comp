// The first invocation passes a number to the last one, with fences of shared memory.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Output { uint y[]; };
shared uint number, flag;
void main() {
    uint t = gl_LocalInvocationIndex;
    if (t == 0u) flag = 0u;
    barrier();
    if (t == 0u) {
        number = x[gl_GlobalInvocationID.x];
        memoryBarrierShared();
        atomicExchange(flag, 1u);
    } else if (t == 255u) {
        uint k = 0u;
        while (atomicOr(flag, 0u) == 0u && k < 1000u) ++k;
        memoryBarrierShared();
        if (k < 1000u) y[gl_WorkGroupID.x] = number;
    }
}
