#version 460
// A whole subgroup does x if at least a quarter of its invocations select x, else y.
// foo, bar: one int per invocation, which selects x if foo < bar. results: 2 foo in subgroups that did x, else
// foo + bar. subgroups: gl_SubgroupID and gl_SubgroupSize.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer layout_foo { int foo[]; };
layout(std430, set = 0, binding = 1) readonly buffer layout_bar { int bar[]; };
layout(std430, set = 0, binding = 2) writeonly buffer layout_results { int results[]; };
layout(std430, set = 0, binding = 3) writeonly buffer layout_subgroups { uvec2 subgroups[]; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    uvec4 ballot = subgroupBallot(foo[index] < bar[index]);
    if (gl_SubgroupSize <= (subgroupBallotBitCount(ballot) * 4)) {
        results[index] = 2 * foo[index];
    } else {
        results[index] = foo[index] + bar[index];
    }
    subgroups[index] = uvec2(gl_SubgroupID, gl_SubgroupSize);
}
