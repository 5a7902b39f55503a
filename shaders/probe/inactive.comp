// Observes the values that lanes read from inactive lanes, which the specification leaves undefined.
// Only even lanes take the branch, and with each operation they read from odd lanes. Each operation is observed twice:
// with a value that every lane sets before the branch, and with a value that is set again inside it.
//
// The workgroup is one full subgroup; lane means gl_SubgroupInvocationID.
// binding 0, start:  for each lane, the value that it sets before the branch; the values of even and odd lanes
//                    differ.
// binding 1, taken:  for each lane, 1 if it takes the branch; read from memory, so that the compiler does not know it.
// binding 2, got:    got[(2 * operation + inside) * size + lane], operation counted as in the list below, inside 0
//                    for the value set before the branch. Lanes that do not take the branch write nothing.
// binding 3, held:   for each lane, its value at the end; this keeps the values of odd lanes live.
//
// Specialization constant 0: the size of the subgroup.
// SHUFFLE, RELATIVE, BALLOT, QUAD are defined if the device supports these operations.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#ifdef SHUFFLE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#ifdef RELATIVE
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#endif
#ifdef BALLOT
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#ifdef QUAD
#extension GL_KHR_shader_subgroup_quad : require
#endif

layout(local_size_x_id = 0) in;

layout(set = 0, binding = 0) readonly buffer Start { uint start[]; };
layout(set = 0, binding = 1) readonly buffer Taken { uint taken[]; };
layout(set = 0, binding = 2) writeonly buffer Got { uint got[]; };
layout(set = 0, binding = 3) writeonly buffer Held { uint held[]; };

void put(uint operation, uint inside, uint value) {
    got[(2u * operation + inside) * gl_WorkGroupSize.x + gl_SubgroupInvocationID] = value;
}

void read(uint value, uint inside) {
    uint lane = gl_SubgroupInvocationID;
#ifdef SHUFFLE
    put(0u, inside, subgroupShuffle(value, lane ^ 1u));
    put(1u, inside, subgroupShuffleXor(value, 1u));
#endif
#ifdef RELATIVE
    put(2u, inside, subgroupShuffleUp(value, 1u));
    put(3u, inside, subgroupShuffleDown(value, 1u));
#endif
#ifdef BALLOT
    put(4u, inside, subgroupBroadcast(value, 1u));
#endif
#ifdef QUAD
    put(5u, inside, subgroupQuadBroadcast(value, 1u));
    put(6u, inside, subgroupQuadSwapHorizontal(value));
#endif
}

void main() {
    uint lane = gl_SubgroupInvocationID;
    uint value = start[lane];
    if (taken[lane] != 0u) {
        read(value, 0u);
        value = value * 3u + 7u;
        read(value, 1u);
    }
    held[lane] = value;
}
