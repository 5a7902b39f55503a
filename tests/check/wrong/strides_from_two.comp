// A scan that forgets the first step: its distances begin with 2, which is no subgroup size.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
void main() {
    uint sum = values[gl_GlobalInvocationID.x];
    for (uint step = 2u; step < gl_SubgroupSize; step *= 2u) { // expect: diverges
        uint other = subgroupShuffleUp(sum, step); // expect: diverges
        if (gl_SubgroupInvocationID >= step)
            sum += other;
    }
    values[gl_GlobalInvocationID.x] = sum; // expect: differs
}
