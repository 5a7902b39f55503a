#version 460
// One invocation of each subgroup reads a value and broadcasts it to the others.
// foo: a table of vec4. results: the entry that the subgroup's first invocation chose.
// lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer layout_foo { vec4 foo[]; };
layout(std430, set = 0, binding = 1) writeonly buffer layout_results { vec4 results[]; };
layout(std430, set = 0, binding = 2) writeonly buffer layout_lanes { uvec2 lanes[]; };

void main() {
    vec4 value;
    if (subgroupElect()) {
        uint index = (gl_GlobalInvocationID.x * 2654435761u >> 7) % uint(foo.length());
        value = foo[index];
    }
    // Tell everyone else in the subgroup the value
    value = subgroupBroadcastFirst(value);
    results[gl_GlobalInvocationID.x] = value;
    lanes[gl_GlobalInvocationID.x] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}
