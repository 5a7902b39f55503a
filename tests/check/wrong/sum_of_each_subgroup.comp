// Writes the sum of every subgroup beside each of its values.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) writeonly buffer Sums { uint sums[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    sums[i] = subgroupAdd(values[i]); // expect: differs, diverges
}
