// Two returns in the innermost of three loops, the first always taken: RADV crashes. Compile it without the GPU:
// vkgroup cost shaders/findings/returns_in_nested_loops.comp --device radv:navi31,radv:vega10
#version 460
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 64) in;

// Words that the loops read; 0 in those of invocations that do not return.
layout(binding = 0) buffer Data { uint data[]; };

void main() {
    uint count = data[gl_GlobalInvocationID.x];
    for (uint a = 0u; a < 1u; ++a)
        for (uint b = 0u; b < min(count, 1u); ++b)
            for (uint c = 0u; c < 1u; ++c) {
                if (gl_SubgroupID == 0u)
                    return;
                if (gl_WorkGroupID.x != 0u)
                    return;
            }
    data[gl_GlobalInvocationID.x] = 0u;
}
