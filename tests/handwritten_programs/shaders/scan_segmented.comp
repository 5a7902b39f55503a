#version 460
// Inclusive sums that begin anew at every flag, in shared memory: pairs (flag, sum) combine associatively.
// values: one int an invocation. flags: not 0 where a segment begins, as every workgroup does.
// sums: the sum of the segment up to the invocation.

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Values { int values[]; };
layout(std430, binding = 1) readonly buffer Flags { uint flags[]; };
layout(std430, binding = 2) writeonly buffer Sums { int sums[]; };

struct Part {
    bool begins;
    int sum;
};
shared Part parts[gl_WorkGroupSize.x];

void main() {
    uint me = gl_LocalInvocationIndex;
    Part part = Part(flags[gl_GlobalInvocationID.x] != 0u, values[gl_GlobalInvocationID.x]);
    parts[me] = part;
    barrier();
    for (uint reach = 1u; reach < gl_WorkGroupSize.x; reach <<= 1) {
        if (me >= reach && !part.begins) {
            part.begins = parts[me - reach].begins;
            part.sum += parts[me - reach].sum;
        }
        barrier();
        parts[me] = part;
        barrier();
    }
    sums[gl_GlobalInvocationID.x] = part.sum;
}
