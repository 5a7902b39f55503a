// Colours by material: neighbours in a subgroup have different ones.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Materials { uint material[]; };
layout(std430, binding = 1) writeonly buffer Colours { uint colour[]; };
layout(std430, binding = 2) readonly buffer Palette { uint shade[]; } palette[4];
void main() {
    uint i = gl_GlobalInvocationID.x;
    colour[i] = palette[material[i] & 3u].shade[i & 15u]; // expect: undefined
}
