// Every invocation takes as many steps as its value asks for, with a barrier in each.
#version 460
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Steps { uint steps[]; };
layout(binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint counter;
void main() {
    if (gl_LocalInvocationIndex == 0u)
        counter = 0u;
    barrier();
    uint mine = steps[gl_GlobalInvocationID.x];
    for (uint k = 0u; k < mine; ++k) {
        atomicAdd(counter, 1u);
        barrier(); // expect: barrier
    }
    sums[gl_GlobalInvocationID.x] = mine;
}
