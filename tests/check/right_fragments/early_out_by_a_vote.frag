#version 450
#extension GL_KHR_shader_subgroup_vote : require

// Work is skipped if no invocation of the subgroup needs it. Helper invocations change the vote, but no result.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    float sum = 0.0;
    bool needed = uv.x > 0.5;
    if (subgroupAny(needed)) {
        for (int k = 1; k < 9; ++k) {
            sum += needed ? uv.y / float(k) : 0.0;
        }
    }
    color = vec4(sum, uv, 1.0);
}
