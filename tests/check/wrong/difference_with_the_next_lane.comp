// Forward difference; the last element of the buffer keeps its value.
#version 460
#extension GL_KHR_shader_subgroup_shuffle_relative : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Signal { float signal[]; };
layout(binding = 1) writeonly buffer Difference { float difference[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float here = signal[i];
    float next = subgroupShuffleDown(here, 1u); // expect: undefined
    bool last = i + 1u == uint(signal.length());
    difference[i] = last ? here : next - here; // expect: undefined
}
