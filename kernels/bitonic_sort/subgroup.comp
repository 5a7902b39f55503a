#version 460
// Sort of short rows, with subgroup operations: the lanes of a subgroup exchange elements by shuffles. Bindings and
// macros: network.glsl.
//
// WIDE 1: teams may be larger than subgroups; partners in other subgroups exchange through shared memory.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "network.glsl"

#ifndef WIDE
#define WIDE 1
#endif
#if WIDE
#include "exchange.glsl"
#endif

uint invocation() {
    return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}

KEY shuffled(KEY order, uint mask) {
#if KEY_WORDS == 2
    return uvec2(subgroupShuffleXor(order.x, mask), subgroupShuffleXor(order.y, mask));
#else
    return subgroupShuffleXor(order, mask);
#endif
}

void fetch(Element x[ITEMS], uint mask, bool reversed, out Element other[ITEMS]) {
#if WIDE
    if (mask >= gl_SubgroupSize) {
        fetch_shared(x, mask, reversed, other);
        return;
    }
#endif
    // Not indexed by `reversed`: an index that varies would move the array from registers to memory.
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        other[i] = Element(shuffled(x[i].order, mask), subgroupShuffleXor(x[i].index, mask));
    if (reversed) {
        UNROLLED for (uint i = 0u; i < ITEMS / 2u; ++i) {
            Element former = other[i];
            other[i] = other[ITEMS - 1u - i];
            other[ITEMS - 1u - i] = former;
        }
    }
}
