// Adds two numbers in a loop from -2, which ends when the counter, as an unsigned number, is below 2: at 0.
#version 450
layout(local_size_x = 16) in;

// The numbers, then the sums of each number and the next.
layout(binding = 0) buffer Data { uint data[]; };

void main() {
    uint at = gl_LocalInvocationIndex, sum = 0u;
    for (int d = -2; uint(d) >= 2u; ++d)
        sum += data[at + uint(d + 2)];
    data[64u + at] = sum;
}
