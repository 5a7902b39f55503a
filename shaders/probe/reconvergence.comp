// Observes whether invocations that diverge at a branch reconverge after it. At each construct every invocation
// records subgroupBallot(true) directly before it, inside it, and directly after it. Invocations have reconverged if
// the mask after the construct equals the mask before it.
//
// binding 0, key:   for each invocation (gl_LocalInvocationIndex), the number that selects its branches; read from
//                   memory, so that the compiler does not know it.
// binding 1, mask:  mask[(3 * construct + moment) * invocations + invocation]: moment 0 before, 1 inside, 2 after; zero
//                   if an invocation did not execute the ballot. Constructs are numbered as below.
// binding 2, work:  for each invocation, a result of its branches, so that the compiler keeps them as branches.
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

    // 4: a loop whose trip count depends on the invocation; inside: its last iteration
    RECORD(4u, BEFORE);
    for (uint trip = 0u; trip <= (k & 3u); ++trip) {
        WORK(trip);
        RECORD(4u, INSIDE);
    }
    RECORD(4u, AFTER);

    // 5: a loop exited by break
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

    // 6: a loop iteration ended by continue; before: the first iteration, after: the second
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

    // 8: a case that falls through into the next; before: at the start of the switch, after: in the case that both reach
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
