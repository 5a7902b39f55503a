// A reduction over all lanes reads lanes that hold no invocation if the subgroups are not full.
#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) buffer Sum { uint sum; };
void main() {
    uint value = values[gl_GlobalInvocationID.x];
    for (uint distance = gl_SubgroupSize / 2u; distance > 0u; distance >>= 1u)
        value += subgroupShuffleXor(value, distance); // expect: sparse
    if (subgroupElect())
        atomicAdd(sum, value);
}
