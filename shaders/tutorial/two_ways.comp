#version 460
// Two kinds of work, selected by each invocation: x doubles foo, y adds bar to it.
// foo, bar: one int per invocation. results: 2 foo if foo < bar, else foo + bar.

layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer layout_foo { int foo[]; };
layout(std430, set = 0, binding = 1) readonly buffer layout_bar { int bar[]; };
layout(std430, set = 0, binding = 2) writeonly buffer layout_results { int results[]; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (foo[index] < bar[index]) {
        results[index] = 2 * foo[index];
    } else {
        results[index] = foo[index] + bar[index];
    }
}
