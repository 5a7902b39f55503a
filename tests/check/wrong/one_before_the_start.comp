// Marks the places where a run of equal values begins.
#version 460
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) writeonly buffer Heads { uint heads[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    heads[i] = values[i] != values[i - 1u] ? 1u : 0u; // expect: bounds
}
