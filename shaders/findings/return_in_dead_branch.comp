#version 460
// A return in a branch that no invocation takes, after an empty loop. No subgroup operation is needed.
// On an affected driver the process crashes (signal 11) when the pipeline is created.
// result: zeros before; after, 5 in the first 32 words and 28 in the others.
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    uint cursor = index;
    uint key = result[index];
    if (key == 0u) {
        result[cursor] = 5u;
        cursor += 32u;
        if (key < 0u) {
            for (uint trip = 0u; trip < 1u; ++trip) {
            }
            if (true) {
                if (index >= 2u) return;
            }
            result[cursor] = 1u;
            ++cursor;
        }
    }
    result[cursor] = 28u;
}
