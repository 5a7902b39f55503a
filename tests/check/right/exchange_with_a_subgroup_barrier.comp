// Neighbouring lanes swap values through shared memory, ordered by a subgroup barrier.
// Slots are numbered by subgroup and lane, for invocations may be assigned to lanes in any order.
// needs: full subgroups
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) buffer Sum { uint sum; };
shared uint box[128];
void main() {
    uint first = gl_SubgroupID * gl_SubgroupSize;
    if (gl_SubgroupSize > 64u)
        first = 0u;
    box[first + gl_SubgroupInvocationID] = values[gl_GlobalInvocationID.x];
    subgroupMemoryBarrierShared();
    subgroupBarrier();
    uint rest = 0u;
    if (subgroupElect()) {
        uint lanes = min(gl_SubgroupSize, 64u);
        for (uint k = 0u; k < lanes; ++k)
            rest += box[first + k];
        atomicAdd(sum, rest);
    }
}
