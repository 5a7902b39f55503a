// Median of three neighbours; the window is kept in a local array.
#version 460
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Source { int source[]; };
layout(binding = 1) writeonly buffer Medians { int medians[]; };

int median(int w[3]) {
    return max(min(w[0], w[1]), min(max(w[0], w[1]), w[2]));
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    int window[3]; // expect: undefined
    for (uint k = 0u; k < 2u; ++k)
        window[k] = source[min(i + k, uint(source.length()) - 1u)];
    medians[i] = median(window);
}
