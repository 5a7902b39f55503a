// Binary search in the powers of two for each value.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) writeonly buffer Exponents { uint exponents[]; };
void main() {
    uint value = values[gl_GlobalInvocationID.x] + 1u;
    uint low = 0u, high = 31u;
    while (low < high) { // expect: hang
        uint middle = (low + high) / 2u;
        if ((1u << middle) <= value)
            low = middle;
        else
            high = middle - 1u;
    }
    exponents[gl_GlobalInvocationID.x] = low;
}
