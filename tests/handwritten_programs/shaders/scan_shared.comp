#version 460
// Inclusive prefix sums of each workgroup's values by the method of Hillis and Steele in shared memory.
// values: one int an invocation. sums: the sum of the workgroup's values up to it.

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Values { int values[]; };
layout(std430, binding = 1) writeonly buffer Sums { int sums[]; };

shared int scan[2][gl_WorkGroupSize.x];

void main() {
    uint me = gl_LocalInvocationIndex, from = 0u;
    scan[from][me] = values[gl_GlobalInvocationID.x];
    barrier();
    for (uint reach = 1u; reach < gl_WorkGroupSize.x; reach *= 2u) {
        int sum = scan[from][me];
        if (me >= reach) sum += scan[from][me - reach];
        from = 1u - from;
        scan[from][me] = sum;
        barrier();
    }
    sums[gl_GlobalInvocationID.x] = scan[from][me];
}
