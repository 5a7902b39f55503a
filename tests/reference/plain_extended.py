"""The functions of other extensions as plain loops over the lanes of one subgroup, written from the texts.

As in `plain`: `value[lane][component]`, `active[lane]`, then the other operands; lane by lane a list of
components or UNDEFINED. Independent of the semantics on purpose.
"""

from __future__ import annotations

import plain
from plain import COMBINE, UNDEFINED, agreed, ballot_of, bit, fetch, over


def rotated(value, active, delta, cluster):
    """Return by SPIR-V's formula ((LocalId + Delta) & (size - 1)) + (LocalId & ~(size - 1))."""
    size = len(active)
    if cluster > size or cluster not in (1, 2, 4, 8, 16, 32, 64, 128) or not agreed(delta, active):
        return [[UNDEFINED] * len(value[0])] * size
    return [
        fetch(value, active, (lane + delta[lane]) % cluster + lane // cluster * cluster)
        for lane in range(size)
    ]


def rotate(value, active, delta, scalar):
    return rotated(value, active, delta, len(active))


def clustered_rotate(value, active, delta, cluster, scalar):
    return rotated(value, active, delta, cluster)


def partition(value, active, scalar):
    size = len(active)
    results = []
    for lane in range(size):
        doubtful = False
        same = []
        for other in range(size):
            pairs = list(zip(value[lane], value[other], strict=True))
            same.append(active[other] and (other == lane or all(x == y for x, y in pairs)))
            if other != lane and active[other] and not same[-1]:
                doubtful = doubtful or all(x == y or (x != x and y != y) for x, y in pairs)
        has_nan = any(x != x for x in value[lane])
        if has_nan:
            same = [other == lane for other in range(size)]
        results.append([UNDEFINED] * 4 if has_nan and doubtful else ballot_of(same))
    return results


def is_partition(ballot, active):
    """Return whether the ballots meet the three conditions of NV_shader_subgroup_partitioned, section 3.8."""
    size = len(active)
    bits = [[bit(ballot[lane], index) for index in range(size)] for lane in range(size)]
    for i in range(size):
        if not active[i]:
            continue
        if not bits[i][i]:
            return False
        for j in range(size):
            if active[j] and bits[i][j] and bits[j] != bits[i]:
                return False
    return True


def partitioned(operator, belongs):
    """Return the combination over the lanes `i` of a lane's subset for which `belongs(i, lane)`."""

    def run(value, active, ballot, scalar):
        size = len(active)
        if not is_partition(ballot, active):
            return [[UNDEFINED] * len(value[0])] * size
        results = []
        for lane in range(size):
            members = [i for i in range(size) if active[i] and bit(ballot[lane], i) and belongs(i, lane)]
            results.append(over(operator, value, members, scalar))
        return results

    return run


def quad_vote(vote):
    def run(value, active, scalar):
        results = []
        for lane in range(len(active)):
            first = lane - lane % 4
            quad = [i for i in range(first, min(first + 4, len(active))) if active[i]]
            results.append([vote(value[i][0] for i in quad)])
        return results

    return run


def without_operand(function):
    """Return a function of `plain`, whose third argument is there for all, without it."""
    return lambda value, active, scalar: function(value, active, None, scalar)


FUNCTIONS = {
    "subgroupRotate": rotate,
    "subgroupClusteredRotate": clustered_rotate,
    "subgroupPartitionNV": partition,
    **{f"subgroupPartitioned{name}NV": partitioned(name, lambda i, lane: True) for name in COMBINE},
    **{
        f"subgroupPartitionedInclusive{name}NV": partitioned(name, lambda i, lane: i <= lane)
        for name in COMBINE
    },
    **{
        f"subgroupPartitionedExclusive{name}NV": partitioned(name, lambda i, lane: i < lane)
        for name in COMBINE
    },
    "subgroupQuadAll": quad_vote(all),
    "subgroupQuadAny": quad_vote(any),
    "ballotARB": without_operand(plain.ballot),
    "readInvocationARB": plain.broadcast,
    "readFirstInvocationARB": without_operand(plain.broadcast_first),
    "anyInvocationARB": without_operand(plain.vote_any),
    "allInvocationsARB": without_operand(plain.vote_all),
    "allInvocationsEqualARB": without_operand(plain.all_equal),
}
