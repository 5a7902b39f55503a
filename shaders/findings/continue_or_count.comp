#version 460
// A loop in which some invocations continue and the others store and count. No subgroup operation is needed.
// On an affected driver the process crashes (signal 11) when the pipeline is created.
// result: zeros before and after, because no iteration has the number of its invocation.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { uint result[]; };
uint index;
uint count = 0u;

void record(uint value) {
    result[index] = value;
    result[index + 64u] = ++count;
}

void main() {
    index = gl_LocalInvocationIndex;
    for (uint trip = 0u; trip < index % 4u; ++trip) {
        if (index >= result[3]) {
            if (trip != index) {
                continue;
            } else {
                record(7u);
            }
            record(7u);
        }
        if (result[2] == 3u) record(7u);
    }
}
