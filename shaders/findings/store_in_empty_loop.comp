// Stores to one address after an inner loop, in an outer loop that makes no trip.
// vkgroup run shaders/findings/store_in_empty_loop.comp --groups 1 --in trips=trips.npy --in data=data.npy
#version 450
layout(local_size_x = 8) in;

// The trips of the outer loop and of the inner one: 0 and 1.
layout(binding = 0) readonly buffer Trips { uint trips[]; };

// 16 numbers, which must not change.
layout(binding = 1) buffer Data { uint data[]; };

void main() {
    uint at = gl_LocalInvocationIndex;
    for (uint trip = 0u; trip < trips[0]; ++trip) {
        uint inner = 0u;
        do {
            data[at] = 1u;
        } while (++inner < trips[1]);
        data[10] = trip;
    }
}
