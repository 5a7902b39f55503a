// Each lane is to look at the value of the lane that its key names.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Keys { uint keys[]; };
layout(binding = 1) readonly buffer Values { uint values[]; };
layout(binding = 2) writeonly buffer Found { uint found[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint key = keys[i] % gl_SubgroupSize;
    found[i] = subgroupBroadcast(values[i], key); // expect: undefined
}
