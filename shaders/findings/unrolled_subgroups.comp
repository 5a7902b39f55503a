#version 460
// Adds one number of each subgroup in a loop that is marked [[unroll]].
// result: after, the number of subgroups, 16 with subgroups of 8
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) buffer Result { uint result; };
shared uint part[128];

void main() {
    if (gl_SubgroupInvocationID == 0u)
        part[gl_SubgroupID] = 1u;
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        uint sum = 0u;
        [[unroll]] for (uint s = 0u; s < gl_NumSubgroups; s++)
            sum += part[s];
        result = sum;
    }
}
