// Horizontal differences inside 2x2 quads of a height map; below the sea nothing is computed.
#version 460
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Height { float height[]; };
layout(binding = 1) writeonly buffer Slope { float slope[]; };

const float sea = 0.4;

void main() {
    uint i = gl_GlobalInvocationID.x;
    float here = height[i];
    float result = 0.0;
    if (here > sea) {
        float there = subgroupQuadSwapHorizontal(here); // expect: undefined
        result = abs(there - here);
    }
    slope[i] = result; // expect: undefined
}
