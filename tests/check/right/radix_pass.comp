// One pass of a radix sort on two bits, within a workgroup: stable, by counting in shared memory.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Keys { uint keys[]; };
layout(binding = 1) writeonly buffer Sorted { uint sorted[]; };
layout(push_constant) uniform Push { uint shift; };
shared uint digit_of[64];
shared uint start[4];
void main() {
    uint t = gl_LocalInvocationIndex;
    uint key = keys[gl_GlobalInvocationID.x];
    uint digit = (key >> shift) & 3u;
    digit_of[t] = digit;
    barrier();
    if (t < 4u) {
        uint smaller = 0u;
        for (uint k = 0u; k < 64u; ++k)
            smaller += digit_of[k] < t ? 1u : 0u;
        start[t] = smaller;
    }
    barrier();
    uint rank = start[digit];
    for (uint k = 0u; k < t; ++k)
        rank += digit_of[k] == digit ? 1u : 0u;
    sorted[gl_WorkGroupID.x * 64u + rank] = key;
}
