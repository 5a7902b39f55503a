#version 460
// A continue in a switch in a switch in a loop, beside an else that breaks. No subgroup operation is needed.
// result: zeros before; after, 0 in word 0, whose invocation continues, and 1 in the other 63.
// On an affected driver word 0 is 1 as well.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    uint trip = 0u;
    do {
        ++trip;
        switch (result[64]) {
        case 0u:
            switch (result[65]) {
            case 0u:
                if (index == 0u) {
                    continue;
                } else {
                    break;
                }
            }
            result[index] = 1u;
        }
    } while (trip < 1u);
}
