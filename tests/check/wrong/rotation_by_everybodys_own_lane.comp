// Reverses the values of each subgroup by rotating every one by a distance of its own.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_spirv_intrinsics : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
spirv_instruction(extensions = ["SPV_KHR_subgroup_rotate"], capabilities = [6026], id = 4431)
uint rotate(uint scope, uint value, uint delta);
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint delta = 2u * (gl_SubgroupSize - gl_SubgroupInvocationID) - 1u;
    values[i] = rotate(3u, values[i], delta); // expect: undefined
}
