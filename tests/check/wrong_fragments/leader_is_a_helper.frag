#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

// Counts subgroups in which a fragment is bright. The elected invocation may be a helper, whose atomic has no effect.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) buffer Sum { uint pixels; };

void main()
{
    color = vec4(uv, 0.0, 1.0);
    uint count = subgroupBallotBitCount(subgroupBallot(!gl_HelperInvocation));
    if (subgroupElect()) { // expect: differs
        atomicAdd(pixels, count);
    }
}
