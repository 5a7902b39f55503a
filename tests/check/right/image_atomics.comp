// Counts values by column in an image of counters.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1, r32ui) uniform uimage1D counters;
void main() {
    uint column = values[gl_GlobalInvocationID.x] % uint(imageSize(counters));
    imageAtomicAdd(counters, int(column), 1u);
}
