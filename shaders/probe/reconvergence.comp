// Whether invocations that part at a branch are together again after it. Around each construct every invocation
// records subgroupBallot(true): just before it, inside it, and just after it. Together again means that the mask after
// is the mask before.
//
// binding 0, key:   for each invocation (gl_LocalInvocationIndex), the number that decides its way. It is read from
//                   memory so that no compiler can know it.
// binding 1, mask:  mask[(3 * construct + moment) * invocations + invocation]: moment 0 before, 1 inside, 2 after; zero
//                   where an invocation did not pass. The constructs are numbered as they are below.
// binding 2, work:  for each invocation, what its branches computed, so that they stay branches.
//
// Specialization constant 0: the number of invocations of the workgroup.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x_id = 0) in;

layout(set = 0, binding = 0) readonly buffer Key { uint key[]; };
layout(set = 0, binding = 1) writeonly buffer Mask { uvec4 mask[]; };
layout(set = 0, binding = 2) buffer Work { uint work[]; };

const uint BEFORE = 0u, INSIDE = 1u, AFTER = 2u;

#define RECORD(construct, moment) \
    mask[(3u * construct + moment) * gl_WorkGroupSize.x + gl_LocalInvocationIndex] = subgroupBallot(true)
#define WORK(number) work[gl_LocalInvocationIndex] = work[gl_LocalInvocationIndex] * 5u + number

void leave_early(uint k) {
    if ((k & 1u) != 0u) {
        RECORD(9u, INSIDE);
        return;
    }
    WORK(1u);
}

void main() {
    uint k = key[gl_LocalInvocationIndex];

    // 0: if
    RECORD(0u, BEFORE);
    if ((k & 1u) != 0u) {
        WORK(1u);
        RECORD(0u, INSIDE);
    }
    RECORD(0u, AFTER);

    // 1: if and else
    RECORD(1u, BEFORE);
    if ((k & 1u) != 0u) {
        WORK(2u);
        RECORD(1u, INSIDE);
    } else {
        WORK(3u);
        RECORD(1u, INSIDE);
    }
    RECORD(1u, AFTER);

    // 2: after both of two nested branches; 3: after the inner one, still inside the outer one
    RECORD(2u, BEFORE);
    if ((k & 1u) != 0u) {
        RECORD(3u, BEFORE);
        if ((k & 2u) != 0u) {
            WORK(4u);
            RECORD(2u, INSIDE);
            RECORD(3u, INSIDE);
        } else {
            WORK(5u);
            RECORD(2u, INSIDE);
            RECORD(3u, INSIDE);
        }
        RECORD(3u, AFTER);
    } else {
        WORK(6u);
        RECORD(2u, INSIDE);
    }
    RECORD(2u, AFTER);

    // 4: a loop whose trips depend on the invocation; inside: its last trip
    RECORD(4u, BEFORE);
    for (uint trip = 0u; trip <= (k & 3u); ++trip) {
        WORK(trip);
        RECORD(4u, INSIDE);
    }
    RECORD(4u, AFTER);

    // 5: a loop left by a break
    RECORD(5u, BEFORE);
    for (uint trip = 0u; trip < 4u; ++trip) {
        if (trip == (k & 3u)) {
            WORK(7u);
            RECORD(5u, INSIDE);
            break;
        }
        WORK(trip);
    }
    RECORD(5u, AFTER);

    // 6: a trip of a loop ended by a continue; before: the first trip, after: the second
    for (uint trip = 0u; trip < 2u; ++trip) {
        if (trip == 0u) {
            RECORD(6u, BEFORE);
        } else {
            RECORD(6u, AFTER);
        }
        if ((k & 1u) != 0u) {
            RECORD(6u, INSIDE);
            continue;
        }
        WORK(8u);
    }

    // 7: switch
    RECORD(7u, BEFORE);
    switch (k & 3u) {
    case 0u:
        WORK(9u);
        RECORD(7u, INSIDE);
        break;
    case 1u:
        WORK(10u);
        RECORD(7u, INSIDE);
        break;
    default:
        WORK(11u);
        RECORD(7u, INSIDE);
        break;
    }
    RECORD(7u, AFTER);

    // 8: a case that falls through into the next; before: after the switch's head, after: in the case both reach
    RECORD(8u, BEFORE);
    switch (k & 1u) {
    case 0u:
        WORK(12u);
        RECORD(8u, INSIDE);
    case 1u:
        WORK(13u);
        RECORD(8u, AFTER);
    }

    // 9: a function that some invocations leave early
    RECORD(9u, BEFORE);
    leave_early(k);
    RECORD(9u, AFTER);
}
