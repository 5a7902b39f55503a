// Box filter; the sums of columns are added horizontally in shared memory.
//
// For each row of the result, every invocation writes its sum to shared memory, and after a barrier reads the
// sums around it. Packets that belong to all its windows are read as totals. If there are many of them, each
// invocation first adds four totals, and then every fourth of these sums is read. Rows alternate between two
// sets of memory, so no invocation overwrites values that others still read.
//
// image: the input. filtered: the means, of the same size. See window.glsl; a team is a workgroup.
#version 460
#include "../include/kernel.glsl"
#include "window.glsl"

const bool FOURS = MIDDLE >= 8u;

shared vec4 packets_of_row[2u * WORKGROUP];
shared TOTAL totals[2u * WORKGROUP];
shared TOTAL fours[2u * WORKGROUP];

uint turn = 0u; // index of the current set

// The index of an invocation at a distance; any invocation of the team if there is none, for invalid windows.
uint other(int distance) {
    int at = clamp(int(gl_LocalInvocationIndex) + distance, 0, int(WORKGROUP) - 1);
    return turn * WORKGROUP + uint(at);
}

vec4 window(vec4 column) {
    turn = 1u - turn;
    packets_of_row[other(0)] = column;
    totals[other(0)] = total(column);
    barrier();
    TOTAL middle = TOTAL(0.0);
    int distance = FIRST;
    if (FOURS) {
        fours[other(0)] = (totals[other(0)] + totals[other(1)])
                                + (totals[other(2)] + totals[other(3)]);
        barrier();
        for (; distance + 4 <= AFTER; distance += 4)
            middle += fours[other(distance)];
    }
    for (; distance < AFTER; ++distance)
        middle += totals[other(distance)];
    vec4 sums = vec4(middle);
    [[unroll]] for (int left = -HALO; left < FIRST; ++left)
        add_part(sums, packets_of_row[other(left)], left);
    [[unroll]] for (int right = AFTER; right <= HALO; ++right)
        add_part(sums, packets_of_row[other(right)], right);
    return sums;
}

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
    filter_tiles(group, groups, int(WORKGROUP), int(gl_LocalInvocationIndex));
}
