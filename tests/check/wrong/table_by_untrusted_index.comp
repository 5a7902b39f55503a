// Looks values up in a table of sixteen.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Index { uint index[]; };
layout(std140, binding = 1) uniform Table { vec4 entry[16]; };
layout(std430, binding = 2) writeonly buffer Result { vec4 result[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    result[i] = entry[index[i]]; // expect: bounds
}
