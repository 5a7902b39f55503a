#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require

// The maximum of the subgroup goes into a maximum of the whole draw. Helper invocations lie outside of the triangle.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) buffer Largest { uint largest; };

void main()
{
    uint value = uint(uv.x * 1024.0 + uv.y * 512.0);
    uint most = subgroupMax(value); // expect: differs
    if (!gl_HelperInvocation) {
        atomicMax(largest, most);
    }
    color = vec4(uv, 0.0, 1.0);
}
