// subgroupXor() of a constant bool: drivers of Mesa reject it or crash. Compile it, also without the GPU:
// vkgroup cost shaders/findings/xor_of_constant.comp --device nvk:ga104,turnip:740
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;

layout(binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    // 1 where the number of active lanes is odd; all 64 invocations are active.
    result[gl_GlobalInvocationID.x] = subgroupXor(true) ? 1u : 0u;
}
