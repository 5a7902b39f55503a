// Float additions over a subgroup, for many rows of inputs; the host derives their order from the rounding.
//
// Each workgroup is one full subgroup and processes one row; lane means gl_SubgroupInvocationID.
// binding 0, term:       term[row * size + lane]
// binding 1, reduced:    subgroupAdd(term) in each lane, at the same index as its term
// binding 2, inclusive:  subgroupInclusiveAdd(term)
// binding 3, exclusive:  subgroupExclusiveAdd(term)
//
// Specialization constant 0: the size of the subgroup.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x_id = 0) in;

layout(set = 0, binding = 0) readonly buffer Term { float term[]; };
layout(set = 0, binding = 1) writeonly buffer Reduced { float reduced[]; };
layout(set = 0, binding = 2) writeonly buffer Inclusive { float inclusive[]; };
layout(set = 0, binding = 3) writeonly buffer Exclusive { float exclusive[]; };

void main() {
    uint at = gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_SubgroupInvocationID;
    float value = term[at];
    reduced[at] = subgroupAdd(value);
    inclusive[at] = subgroupInclusiveAdd(value);
    exclusive[at] = subgroupExclusiveAdd(value);
}
