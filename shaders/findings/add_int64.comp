// subgroupAdd() of 64-bit integers: NVK rejects it for Kepler to Pascal. Compile it, also without the GPU:
// vkgroup cost shaders/findings/add_int64.comp --device nvk:gm107
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;

// Before, the numbers; after, their sum over the subgroup.
layout(binding = 0) buffer Data { uint64_t data[]; };

void main() {
    data[gl_GlobalInvocationID.x] = subgroupAdd(data[gl_GlobalInvocationID.x]);
}
