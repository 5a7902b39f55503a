// Reverses the order of each workgroup's values.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { float data[]; };
shared float mirror[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    uint base = gl_WorkGroupID.x * 64u;
    mirror[63u - t] = data[base + t];
    data[base + t] = mirror[t]; // expect: race
}
