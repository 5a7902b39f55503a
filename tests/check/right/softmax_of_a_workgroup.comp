// Softmax of rows of 64 values; subgroup reductions glued through shared memory.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Rows { float x[]; };
shared float part[64];
void main() {
    float v = x[gl_GlobalInvocationID.x];
    float m = subgroupMax(v);
    if (subgroupElect())
        part[gl_SubgroupID] = m;
    barrier();
    m = part[0];
    for (uint k = 1u; k < gl_NumSubgroups; ++k)
        m = max(m, part[k]);
    barrier();
    float e = exp(v - m);
    float s = subgroupAdd(e);
    if (subgroupElect())
        part[gl_SubgroupID] = s;
    barrier();
    s = 0.0;
    for (uint k = 0u; k < gl_NumSubgroups; ++k)
        s += part[k];
    x[gl_GlobalInvocationID.x] = e / s;
}
