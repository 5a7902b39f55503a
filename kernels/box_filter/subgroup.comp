// Box filter; the sums of columns are added horizontally with shuffles, without shared memory or barriers.
//
// image: the input. filtered: the means, of the same size. See window.glsl; a team is a subgroup.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "../include/kernel.glsl"
#include "window.glsl"

// The value of a lane at a distance. Lanes with valid windows read lanes of the subgroup; other lanes may get
// any value.
uint other(int distance) {
    return uint(int(gl_SubgroupInvocationID) + distance) & (gl_SubgroupSize - 1u);
}

vec4 window(vec4 column) {
    // The sum of the middle packets, by doubling: `part` is the total of `reach` packets from this lane on.
    // Each bit set in MIDDLE adds one such part, and the parts are adjacent.
    TOTAL part = total(column), middle = TOTAL(0.0);
    int from = FIRST;
    [[unroll]] for (uint left = MIDDLE, reach = 1u; left > 0u; left /= 2u, reach *= 2u) {
        if (left % 2u == 1u) {
            middle += subgroupShuffle(part, other(from));
            from += int(reach);
        }
        if (left > 1u)
            part += subgroupShuffle(part, other(int(reach)));
    }
    vec4 sums = vec4(middle);
    [[unroll]] for (int distance = -HALO; distance < FIRST; ++distance)
        add_part(sums, subgroupShuffle(column, other(distance)), distance);
    [[unroll]] for (int distance = AFTER; distance <= HALO; ++distance)
        add_part(sums, subgroupShuffle(column, other(distance)), distance);
    return sums;
}

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
    filter_tiles(group * gl_NumSubgroups + gl_SubgroupID, groups * gl_NumSubgroups, int(gl_SubgroupSize),
                 int(gl_SubgroupInvocationID));
}
