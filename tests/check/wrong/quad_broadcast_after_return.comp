// Every pixel of a quad takes the colour of the quad's last pixel. The image has 61 pixels.
#version 460
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Pixels { vec4 pixel[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (gl_LocalInvocationIndex >= 61u)
        return;
    pixel[i] = subgroupQuadBroadcast(pixel[i], 3u); // expect: undefined
}
