#version 460
// A scan over the subgroup with a loop that each invocation exits when it reaches its own value.
// foo: one float per invocation. results: the sum of the floats from the subgroup's first one up to this invocation,
// exclusive (inclusive if INCLUSIVE_SCAN is defined).
// lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer layout_foo { float foo[]; };
layout(std430, set = 0, binding = 1) writeonly buffer layout_results { float results[]; };
layout(std430, set = 0, binding = 2) writeonly buffer layout_lanes { uvec2 lanes[]; };

void main() {
    uint foo_index = subgroupBroadcastFirst(gl_GlobalInvocationID.x);
    float value = 0;
    for (uint i = 0; i < gl_SubgroupSize; i++) {
#ifdef INCLUSIVE_SCAN
        if (i == (gl_SubgroupInvocationID + 1)) {
            break;
        }
#else
        if (i == gl_SubgroupInvocationID) {
            break;
        }
#endif
        value += foo[foo_index + i];
    }
    results[gl_GlobalInvocationID.x] = value;
    lanes[gl_GlobalInvocationID.x] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}
