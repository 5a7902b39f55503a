#version 460
// 4 x 4 max pooling by clusters of lanes: 4, each with one row of the window, or 16, each with one element.
// Bindings: pool.glsl.
//
// METHOD: SHUFFLE, subgroupShuffleXor in 2 or 4 steps; QUAD, swaps within quads (4 lanes); CLUSTERED, the
// clustered maximum (32 bits or fewer). If subgroups have fewer lanes than a cluster, or are not full, each
// invocation processes whole windows.
#define SHUFFLE 0
#define QUAD 1
#define CLUSTERED 2
#ifndef METHOD
#define METHOD SHUFFLE
#endif
#ifndef CLUSTER
#define CLUSTER 4
#endif

#extension GL_KHR_shader_subgroup_basic : require
#if METHOD == QUAD
#extension GL_KHR_shader_subgroup_quad : require
#elif METHOD == CLUSTERED
#extension GL_KHR_shader_subgroup_clustered : require
#else
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "../include/elements.glsl"
#include "../include/kernel.glsl"
#include "pool.glsl"

// The greatest key of the cluster, in each of its lanes.
Key greatest(Key key) {
#if METHOD == QUAD
    key = later(key, subgroupQuadSwapHorizontal(key));
    return later(key, subgroupQuadSwapVertical(key));
#elif METHOD == CLUSTERED
    return subgroupClusteredMax(key, CLUSTER);
#else
    [[unroll]] for (uint mask = 1u; mask < CLUSTER; mask *= 2u)
        key = later(key, subgroupShuffleXor(key, mask));
    return key;
#endif
}

void main() {
    if (gl_SubgroupSize < CLUSTER || gl_NumSubgroups * gl_SubgroupSize != WORKGROUP) {
        uint step = gl_NumWorkGroups.x * WORKGROUP;
        for (uint window = gl_GlobalInvocationID.x; window < count; window += step)
            pool_alone(window);
        return;
    }
    // Clusters are numbered by lanes, not by invocations, since only lane indices tell which invocations
    // share a subgroup.
    uint across = WORKGROUP / CLUSTER;
    uint tile = ITEMS * across;
    uint lane = gl_SubgroupInvocationID % CLUSTER;
    uint own_window = gl_SubgroupID * (gl_SubgroupSize / CLUSTER) + gl_SubgroupInvocationID / CLUSTER;
    for (uint first = gl_WorkGroupID.x * tile; first < count; first += gl_NumWorkGroups.x * tile) {
        Key keys[ITEMS];
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
            uint window = first + j * across + own_window;
            keys[j] = LEAST;
            if (window < count) {
#if CLUSTER == 16
                keys[j] = element_of(corner_of(window), lane);
#else
                keys[j] = row_of(corner_of(window), lane);
#endif
            }
        }
        // All lanes are active again; lanes of windows past the last one have the least key.
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
            uint window = first + j * across + own_window;
            Key all = greatest(keys[j]);
            if (lane == 0u && window < count)
                write_maximum(window, all);
        }
    }
}
