#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_basic : require

// Counts fragments of a draw in a storage buffer, with the first word of a ballot only: at most 32 lanes.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) buffer Total { uint total; };

void main()
{
    color = vec4(uv, 0.0, 1.0);
    if (!gl_HelperInvocation) {
        uint votes = subgroupBallot(true).x; // expect: assumes
        if (subgroupElect()) {
            atomicAdd(total, bitCount(votes));
        }
    }
}
