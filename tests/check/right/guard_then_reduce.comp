// Sum of the values, the tail of the last workgroup taking no part.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Total { uint total; };
layout(push_constant) uniform Push { uint count; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count)
        return;
    uint sum = subgroupAdd(x[i]);
    if (subgroupElect())
        atomicAdd(total, sum);
}
