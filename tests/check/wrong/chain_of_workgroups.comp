// Each workgroup waits for the one before it, which need not have started.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) coherent buffer Sums { uint sums[]; };
void main() {
    uint group = gl_WorkGroupID.x;
    if (gl_LocalInvocationIndex == 0u) {
        uint before = 1u;
        if (group > 0u)
            do before = atomicAdd(sums[group - 1u], 0u); while (before == 0u); // expect: progress
        atomicExchange(sums[group], before + values[group]);
    }
}
