// Sum of everything in one dispatch: the last workgroup to finish adds the sums of all.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) coherent buffer Partial { uint partial[]; };
layout(std430, binding = 2) coherent buffer Result { uint ticket; uint total; };
shared uint sum;
shared bool last;
void main() {
    uint t = gl_LocalInvocationIndex;
    if (t == 0u) sum = 0u;
    barrier();
    uint part = subgroupAdd(x[gl_GlobalInvocationID.x]);
    if (subgroupElect()) atomicAdd(sum, part);
    barrier();
    if (t == 0u) {
        partial[gl_WorkGroupID.x] = sum;
        memoryBarrierBuffer();
        last = atomicAdd(ticket, 1u) == gl_NumWorkGroups.x - 1u;
        memoryBarrierBuffer();
    }
    barrier();
    if (last && t == 0u) {
        uint all = 0u;
        for (uint g = 0u; g < gl_NumWorkGroups.x; ++g)
            all += partial[g];
        total = all;
    }
}
