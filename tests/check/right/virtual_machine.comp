// A little stack machine: a switch in a loop, with falling through, nested control flow and early ends.
#version 460
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Code { uint code[]; };
layout(binding = 1) writeonly buffer Results { int results[]; };

int run(uint at) {
    int stack[8];
    for (int k = 0; k < 8; ++k)
        stack[k] = k;
    int top = 3;
    for (int steps = 0; steps < 12; ++steps) {
        uint op = code[(at + uint(steps)) % uint(code.length())] & 7u;
        switch (op) {
        case 0u:
            return stack[top];
        case 1u:
        case 2u:
            if (top < 7) ++top;
            // falls through
        case 3u:
            stack[top] += int(op);
            break;
        case 4u:
            if (top == 0) continue;
            stack[top - 1] -= stack[top];
            --top;
            break;
        case 5u: {
            int k = 0;
            while (k < top && stack[k] != 3) ++k;
            stack[top] ^= k;
            break;
        }
        default:
            stack[top] = -stack[top];
        }
    }
    return stack[top] * 1000;
}

void main() {
    results[gl_GlobalInvocationID.x] = run(gl_GlobalInvocationID.x);
}
