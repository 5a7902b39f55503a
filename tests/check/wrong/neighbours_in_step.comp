// Exchanges values between neighbouring lanes through shared memory: "lanes of a subgroup run in lockstep".
#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
shared uint box[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    box[t] = data[gl_GlobalInvocationID.x];
    uint other = box[t ^ 1u]; // expect: race
    data[gl_GlobalInvocationID.x] = other;
}
