#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require

// Brightness relative to the mean of the subgroup, as if a subgroup were a block of the picture.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    float mean = 0.0;
    if (!gl_HelperInvocation) {
        mean = subgroupAdd(uv.x) / subgroupAdd(1.0);
    }
    color = vec4(uv.x > mean ? 1.0 : 0.0, uv, 1.0); // expect: differs
}
