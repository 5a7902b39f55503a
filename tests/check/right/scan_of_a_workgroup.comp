// Inclusive prefix sum of each workgroup: subgroup scans, then the offsets of the subgroups.
// In what order a subgroup's lanes hold the invocations is not known, so lanes are given their places here.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Output { uint y[]; };
shared uint offset[128], sums[128];
void main() {
    // Subgroups may be partial, so the first place of each is counted, not multiplied.
    uint lanes = subgroupAdd(1u);
    if (subgroupElect())
        offset[gl_SubgroupID] = lanes;
    barrier();
    uint place = subgroupExclusiveAdd(1u);
    for (uint k = 0u; k < gl_SubgroupID; ++k)
        place += offset[k];
    uint at = gl_WorkGroupID.x * 128u + place;
    uint value = x[at];
    uint running = subgroupInclusiveAdd(value);
    uint sum = subgroupAdd(value);
    if (subgroupElect())
        sums[gl_SubgroupID] = sum;
    barrier();
    for (uint k = 0u; k < gl_SubgroupID; ++k)
        running += sums[k];
    y[at] = running;
}
