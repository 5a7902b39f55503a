#version 460
// Merge sort of 256 pairs by one workgroup: in each round every element finds its place in the merged run by a binary
// search in the neighbouring run. Stable.
// pairs: key and payload; sorted by key in place.

layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Pairs { ivec2 pairs[]; };

shared ivec2 runs[2][gl_WorkGroupSize.x];

// How many of the run's keys are below the key; with or_equal, not above it.
uint rank(uint from, uint start, uint length, int key, bool or_equal) {
    uint low = 0u, high = length;
    while (low < high) {
        uint middle = (low + high) / 2u;
        int there = runs[from][start + middle].x;
        if (there < key || (or_equal && there == key)) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

void main() {
    uint me = gl_LocalInvocationIndex, from = 0u;
    runs[0][me] = pairs[me];
    barrier();
    for (uint length = 1u; length < gl_WorkGroupSize.x; length *= 2u) {
        ivec2 pair = runs[from][me];
        uint start = me / length * length, sibling = start ^ length;
        bool right = sibling < start;
        uint place = min(start, sibling) + (me - start) + rank(from, sibling, length, pair.x, right);
        from = 1u - from;
        runs[from][place] = pair;
        barrier();
    }
    pairs[me] = runs[from][me];
}
