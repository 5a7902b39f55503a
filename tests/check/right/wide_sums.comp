// 64-bit sum of each workgroup, by subgroups.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer Sums { uint64_t sums[]; };
shared uint64_t part[64];
void main() {
    uint64_t s = subgroupAdd(uint64_t(a[gl_GlobalInvocationID.x]) << 33);
    if (subgroupElect())
        part[gl_SubgroupID] = s;
    barrier();
    if (gl_LocalInvocationIndex != 0u)
        return;
    uint64_t all = 0ul;
    for (uint k = 0u; k < gl_NumSubgroups; ++k)
        all += part[k];
    sums[gl_WorkGroupID.x] = all;
}
