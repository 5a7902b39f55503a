#version 460
// A machine with a stack: every invocation runs a program of its own, by a large switch in a loop.
// code: one opcode in the low byte of each word, an operand above it. starts: where each invocation's program begins.
// results: the top of the stack at the end, the depth, and the instructions executed. Overlong programs are stopped.

layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Code { uint code[]; };
layout(std430, binding = 1) readonly buffer Starts { uint starts[]; };
layout(std430, binding = 2) writeonly buffer Results { ivec3 results[]; };

const uint HALT = 0u, PUSH = 1u, ADD = 2u, SUBTRACT = 3u, MULTIPLY = 4u, DUPLICATE = 5u, SWAP = 6u, DROP = 7u,
    JUMP = 8u, JUMP_IF_ZERO = 9u, LESS = 10u, NEGATE = 11u, LOAD = 12u, STORE = 13u, INDEX = 14u, LIMIT = 120u;

void main() {
    uint at = starts[gl_GlobalInvocationID.x], executed = 0u;
    int stack[16], variables[4] = int[](0, 0, 0, 0), top = -1;
    bool running = true;
    stack[0] = 0;
    while (running && executed < LIMIT) {
        uint word = code[at++];
        int operand = int(word) >> 8, right;
        executed++;
        switch (word & 255u) {
        case HALT:
            running = false;
            break;
        case PUSH:
            stack[++top] = operand;
            break;
        case SUBTRACT:
            stack[top] = -stack[top];
        case ADD:
            right = stack[top--];
            stack[top] += right;
            break;
        case MULTIPLY:
            right = stack[top--];
            stack[top] *= right;
            break;
        case DUPLICATE:
            stack[top + 1] = stack[top];
            top++;
            break;
        case SWAP:
            right = stack[top];
            stack[top] = stack[top - 1];
            stack[top - 1] = right;
            break;
        case DROP:
            top--;
            break;
        case JUMP_IF_ZERO:
            if (stack[top--] != 0) break;
        case JUMP:
            at = uint(int(at) + operand);
            break;
        case LESS:
            right = stack[top--];
            stack[top] = stack[top] < right ? 1 : 0;
            break;
        case NEGATE:
            stack[top] = -stack[top];
            break;
        case LOAD:
            stack[++top] = variables[operand];
            break;
        case STORE:
            variables[operand] = stack[top--];
            break;
        case INDEX:
            stack[++top] = int(gl_GlobalInvocationID.x);
            break;
        default:
            running = false;
            top = -1;
        }
    }
    results[gl_GlobalInvocationID.x] = ivec3(top >= 0 ? stack[top] : 0, top + 1, executed);
}
