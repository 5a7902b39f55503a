#version 460
// Circular autocorrelation of each subgroup's values, by rotating them once round. Needs full subgroups.
// values: one int an invocation. correlations: sum over the subgroup of value times the value `lane` lanes further.
// lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_spirv_intrinsics : require

// OpGroupNonUniformRotateKHR, as glslang 13 has no GL_KHR_shader_subgroup_rotate; 3 is the scope Subgroup.
spirv_instruction(extensions = ["SPV_KHR_subgroup_rotate"], capabilities = [6026], id = 4431)
int rotate(uint scope, int value, uint delta);

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { int values[]; };
layout(std430, binding = 1) writeonly buffer Correlations { int correlations[]; };
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    int value = values[me], rotated = value, mine = 0;
    for (uint shift = 0u; shift < gl_SubgroupSize; shift++) {
        int sum = subgroupAdd(value * rotated);
        if (gl_SubgroupInvocationID == shift) mine = sum;
        rotated = rotate(3u, rotated, 1u);
    }
    correlations[me] = mine;
    lanes[me] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}
