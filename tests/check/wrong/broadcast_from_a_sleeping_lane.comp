// Subtracts a reference value, which lane 0 of each subgroup holds, from all values that are large enough.
#version 450
#extension GL_KHR_shader_subgroup_ballot : enable
layout(local_size_x = 32, local_size_y = 2) in;
layout(binding = 0) buffer Data { int data[]; };

void main()
{
    uint index = gl_WorkGroupID.x * 64 + gl_LocalInvocationIndex;
    int value = data[index];
    if (value > 20)
    {
        int base = subgroupBroadcast(value, 0); // expect: undefined
        data[index] = value - base; // expect: undefined
    }
}
