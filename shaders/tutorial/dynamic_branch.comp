#version 460
// A branch that some invocations of a subgroup take and others do not.
// values: one float per invocation. results: 42 - x if x is negative, else x - 13.

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) writeonly buffer Results { float results[]; };

void main() {
    float x = values[gl_GlobalInvocationID.x];
    if (x < 0.0f) {
        x = x * -1.0f + 42.0f;
    } else {
        x = x - 13.0f;
    }
    results[gl_GlobalInvocationID.x] = x;
}
