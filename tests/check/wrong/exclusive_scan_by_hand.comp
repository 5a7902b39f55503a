// Offsets of variable-length records: exclusive prefix sums of 64 lengths, two warps glued by hand.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Lengths { uint lengths[]; };
layout(std430, binding = 1) writeonly buffer Offsets { uint offsets[]; };
shared uint first_warp;
void main() {
    uint t = gl_LocalInvocationIndex;
    uint i = gl_GlobalInvocationID.x;
    uint offset = subgroupExclusiveAdd(lengths[i]);
    if (t == 31u) // expect: assumes
        first_warp = offset + lengths[i];
    barrier();
    if (t >= 32u) // expect: assumes
        offset += first_warp;
    offsets[i] = offset;
}
