#version 460
// two_ways.comp with votes: a subgroup that agrees does one kind of work without a divergent branch.
// foo, bar: one int per invocation. results: 2 foo if foo < bar, else foo + bar.
// ways: 0 if the whole subgroup did x, 1 if it did y, 2 if it did both.
#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer layout_foo { int foo[]; };
layout(std430, set = 0, binding = 1) readonly buffer layout_bar { int bar[]; };
layout(std430, set = 0, binding = 2) writeonly buffer layout_results { int results[]; };
layout(std430, set = 0, binding = 3) writeonly buffer layout_ways { uint ways[]; };

int x(uint index) { return 2 * foo[index]; }
int y(uint index) { return foo[index] + bar[index]; }

void main() {
    uint index = gl_GlobalInvocationID.x;
    bool condition = foo[index] < bar[index];
    if (subgroupAll(condition)) {
        results[index] = x(index);
        ways[index] = 0u;
    } else if (!subgroupAny(condition)) {
        results[index] = y(index);
        ways[index] = 1u;
    } else {
        results[index] = condition ? x(index) : y(index);
        ways[index] = 2u;
    }
}
