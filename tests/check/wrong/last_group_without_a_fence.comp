// Sum of everything in one dispatch: the workgroup that finishes last adds the sums of all.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Partial { uint partial[]; };
layout(std430, binding = 2) buffer Result { uint ticket; uint total; };
shared uint sum;
shared bool last;
void main() {
    uint t = gl_LocalInvocationIndex;
    if (t == 0u) sum = 0u;
    barrier();
    atomicAdd(sum, x[gl_GlobalInvocationID.x]);
    barrier();
    if (t == 0u) {
        partial[gl_WorkGroupID.x] = sum;
        last = atomicAdd(ticket, 1u) == gl_NumWorkGroups.x - 1u;
    }
    barrier();
    if (last && t == 0u) {
        uint all = 0u;
        for (uint g = 0u; g < gl_NumWorkGroups.x; ++g)
            all += partial[g]; // expect: race
        total = all;
    }
}
