#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_basic : require

// Counts fragments: one atomic for each subgroup, by invocations that are no helpers.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) buffer Total { uint total; };

void main()
{
    color = vec4(uv, dFdx(uv.x), 1.0);
    if (!gl_HelperInvocation) {
        uvec4 voters = subgroupBallot(true);
        if (subgroupElect()) {
            atomicAdd(total, subgroupBallotBitCount(voters));
        }
    }
}
