// Copies values; the place is computed from subgroup and lane, as if lanes were counted like invocations.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Source { uint source[]; };
layout(binding = 1) writeonly buffer Target { uint target[]; };
void main() {
    uint place = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    target[gl_WorkGroupID.x * 64u + place] = source[gl_GlobalInvocationID.x]; // expect: assumes
}
