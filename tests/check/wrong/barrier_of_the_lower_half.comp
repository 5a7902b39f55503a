// Sum of a workgroup; the barrier stands inside the branch.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint s[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    s[t] = x[gl_GlobalInvocationID.x];
    barrier();
    for (uint stride = 32u; stride > 0u; stride /= 2u) {
        if (t < stride) {
            s[t] += s[t + stride];
            barrier(); // expect: barrier
        }
    }
    if (t == 0u)
        sums[gl_WorkGroupID.x] = s[0];
}
