// Membership in a set of bits, 32 in a word as words are: what depends on the subgroups is the sum.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Bits { uint bits[]; };
layout(std430, binding = 1) writeonly buffer Before { uint before[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint is_member = bits[i / 32u] >> (i % 32u) & 1u;
    before[i] = subgroupExclusiveAdd(is_member); // expect: differs, diverges
}
