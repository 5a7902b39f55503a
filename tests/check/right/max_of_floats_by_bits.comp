// Largest positive float of all, by the order of its bits.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) buffer Largest { uint largest; };
void main() {
    float most = subgroupMax(values[gl_GlobalInvocationID.x]);
    if (subgroupElect())
        atomicMax(largest, floatBitsToUint(most));
}
