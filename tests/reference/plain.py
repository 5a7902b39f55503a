"""Every built-in function and variable as plain loops over the lanes of one subgroup, written from the text.

Independent of `vkgroup.reference.semantics` and its helpers on purpose: the tests compare the two. A function
gets `value[lane][component]`, `active[lane]`, the second operand `operand[lane]` (one number for a cluster)
and the scalar type; it returns, lane by lane, a list of components or UNDEFINED in place of a component.
Inactive lanes are the caller's business.
"""

from __future__ import annotations

import math

import numpy as np

from vkgroup.reference.dtypes import dtype_of

UNDEFINED = object()


def lowest(active):
    for lane in range(len(active)):
        if active[lane]:
            return lane
    return None


def fetch(value, active, lane):
    """Return the value of a lane as another may read it."""
    if 0 <= lane < len(active) and active[lane]:
        return value[lane]
    return [UNDEFINED] * len(value[0])


def bit(ballot, index):
    return ballot[index // 32] // 2 ** (index % 32) % 2 == 1


def ballot_of(bits):
    """Return four words from up to 128 bits."""
    words = [0, 0, 0, 0]
    for index, is_set in enumerate(bits):
        if is_set:
            words[index // 32] += 2 ** (index % 32)
    return words


# Basic and vote


def elect(value, active, operand, scalar):
    return [[lane == lowest(active)] for lane in range(len(active))]


def barrier(value, active, operand, scalar):
    return [[] for _ in active]


def vote_all(value, active, operand, scalar):
    answer = True
    for lane in range(len(active)):
        if active[lane] and not value[lane][0]:
            answer = False
    return [[answer]] * len(active)


def vote_any(value, active, operand, scalar):
    answer = False
    for lane in range(len(active)):
        if active[lane] and value[lane][0]:
            answer = True
    return [[answer]] * len(active)


def all_equal(value, active, operand, scalar):
    taking_part = [value[lane] for lane in range(len(active)) if active[lane]]
    if len(taking_part) == 1 and any(x != x for x in taking_part[0]):
        return [[UNDEFINED]] * len(active)
    answer = True
    for one in range(len(taking_part)):
        for other in range(one):
            for x, y in zip(taking_part[one], taking_part[other], strict=True):
                answer = answer and bool(x == y)
    return [[answer]] * len(active)


# Arithmetic: the operators, their identities, then reductions and scans


def wrap(number, scalar):
    number %= 2**scalar.bits
    if scalar.kind == "int" and number >= 2 ** (scalar.bits - 1):
        number -= 2**scalar.bits
    return number


def add(a, b, scalar):
    if scalar.kind == "float":
        with np.errstate(all="ignore"):
            return dtype_of(scalar).type(a) + dtype_of(scalar).type(b)
    return wrap(int(a) + int(b), scalar)


def mul(a, b, scalar):
    if scalar.kind == "float":
        with np.errstate(all="ignore"):
            return dtype_of(scalar).type(a) * dtype_of(scalar).type(b)
    return wrap(int(a) * int(b), scalar)


def minimum(a, b, scalar):
    if a != a:
        return b
    if b != b:
        return a
    return b if b < a else a


def maximum(a, b, scalar):
    if a != a:
        return b
    if b != b:
        return a
    return b if b > a else a


def logical_and(a, b, scalar):
    return (a and b) if scalar.kind == "bool" else wrap(int(a) & int(b), scalar)


def logical_or(a, b, scalar):
    return (a or b) if scalar.kind == "bool" else wrap(int(a) | int(b), scalar)


def logical_xor(a, b, scalar):
    return (a != b) if scalar.kind == "bool" else wrap(int(a) ^ int(b), scalar)


def identity(operator, scalar):
    """Return I() of the table of section 3.8."""
    signed = scalar.kind == "int"
    if operator == "Add":
        return 0
    if operator == "Mul":
        return 1
    if operator == "Min":
        if scalar.kind == "float":
            return math.inf
        return 2 ** (scalar.bits - 1) - 1 if signed else 2**scalar.bits - 1
    if operator == "Max":
        if scalar.kind == "float":
            return -math.inf
        return -(2 ** (scalar.bits - 1)) if signed else 0
    if operator == "And":
        return True if scalar.kind == "bool" else -1 if signed else 2**scalar.bits - 1
    return False if scalar.kind == "bool" else 0


COMBINE = {
    "Add": add,
    "Mul": mul,
    "Min": minimum,
    "Max": maximum,
    "And": logical_and,
    "Or": logical_or,
    "Xor": logical_xor,
}


def combine_all(operator, numbers, scalar):
    """Return x(0) <op> x(1) <op> ... of one component."""
    if not numbers:
        return identity(operator, scalar)
    result = numbers[0]
    for number in numbers[1:]:
        result = COMBINE[operator](result, number, scalar)
    if operator in ("Min", "Max") and scalar.kind == "float":
        if result != result:
            return UNDEFINED
        signs = {math.copysign(1, x) for x in numbers if x == 0}
        if result == 0 and len(signs) == 2:
            return UNDEFINED
    return result


def over(operator, value, lanes, scalar):
    """Return the components of combining the values of `lanes`."""
    return [
        combine_all(operator, [value[lane][component] for lane in lanes], scalar)
        for component in range(len(value[0]))
    ]


def reduction(operator):
    def run(value, active, operand, scalar):
        lanes = [lane for lane in range(len(active)) if active[lane]]
        return [over(operator, value, lanes, scalar)] * len(active)

    return run


def inclusive(operator):
    def run(value, active, operand, scalar):
        return [
            over(operator, value, [i for i in range(lane + 1) if active[i]], scalar)
            for lane in range(len(active))
        ]

    return run


def exclusive(operator):
    def run(value, active, operand, scalar):
        return [
            over(operator, value, [i for i in range(lane) if active[i]], scalar)
            for lane in range(len(active))
        ]

    return run


def clustered(operator):
    def run(value, active, operand, scalar):
        size = len(active)
        if operand > size or operand not in (1, 2, 4, 8, 16, 32, 64, 128):
            return [[UNDEFINED] * len(value[0])] * size
        results = []
        for lane in range(size):
            first = lane - lane % operand
            members = [i for i in range(first, first + operand) if active[i]]
            results.append(over(operator, value, members, scalar))
        return results

    return run


# Ballot


def agreed(operand, active):
    """Return whether all active lanes hold the same."""
    return len({str(operand[lane]) for lane in range(len(active)) if active[lane]}) <= 1


def broadcast(value, active, operand, scalar):
    if not agreed(operand, active):
        return [[UNDEFINED] * len(value[0])] * len(active)
    return [fetch(value, active, operand[lane]) for lane in range(len(active))]


def broadcast_first(value, active, operand, scalar):
    return [value[lowest(active) or 0]] * len(active)


def ballot(value, active, operand, scalar):
    return [ballot_of([active[lane] and value[lane][0] for lane in range(len(active))])] * len(active)


def inverse_ballot(value, active, operand, scalar):
    if not agreed(value, active):
        return [[UNDEFINED]] * len(active)
    return [[bit(value[lane], lane)] for lane in range(len(active))]


def ballot_bit_extract(value, active, operand, scalar):
    size = len(active)
    return [[bit(value[lane], operand[lane]) if operand[lane] < size else UNDEFINED] for lane in range(size)]


def bit_count(last):
    """Return the count of the bits below `last(lane, size)`."""

    def run(value, active, operand, scalar):
        size = len(active)
        counts = []
        for lane in range(size):
            count = 0
            for index in range(last(lane, size)):
                if bit(value[lane], index):
                    count += 1
            counts.append([count])
        return counts

    return run


def find_lsb(value, active, operand, scalar):
    results = []
    for lane in range(len(active)):
        found = UNDEFINED
        for index in range(len(active)):
            if bit(value[lane], index) and found is UNDEFINED:
                found = index
        results.append([found])
    return results


def find_msb(value, active, operand, scalar):
    results = []
    for lane in range(len(active)):
        found = UNDEFINED
        for index in range(len(active)):
            if bit(value[lane], index):
                found = index
        results.append([found])
    return results


# Shuffle and quad


def shuffle(value, active, operand, scalar):
    return [fetch(value, active, operand[lane]) for lane in range(len(active))]


def shuffle_xor(value, active, operand, scalar):
    return [fetch(value, active, lane ^ operand[lane]) for lane in range(len(active))]


def shuffle_up(value, active, operand, scalar):
    return [fetch(value, active, lane - operand[lane]) for lane in range(len(active))]


def shuffle_down(value, active, operand, scalar):
    return [fetch(value, active, lane + operand[lane]) for lane in range(len(active))]


def quad_broadcast(value, active, operand, scalar):
    results = []
    for lane in range(len(active)):
        source = lane - lane % 4 + operand[lane] if operand[lane] < 4 else -1
        results.append(fetch(value, active, source))
    return results if agreed(operand, active) else [[UNDEFINED] * len(value[0])] * len(active)


def quad_swap(partner):
    """Swap as in the text's diagram: a, b, c, d are positions 0 to 3; `partner` is the source of each."""

    def run(value, active, operand, scalar):
        return [fetch(value, active, lane - lane % 4 + partner[lane % 4]) for lane in range(len(active))]

    return run


# Built-in variables: of a subgroup of `size` lanes, number `index` of `count` in its workgroup


def mask(relation):
    def run(size, index, count):
        return [ballot_of([relation(place, lane) for place in range(size)]) for lane in range(size)]

    return run


VARIABLES = {
    "gl_NumSubgroups": lambda size, index, count: [[count]] * size,
    "gl_SubgroupID": lambda size, index, count: [[index]] * size,
    "gl_SubgroupSize": lambda size, index, count: [[size]] * size,
    "gl_SubgroupInvocationID": lambda size, index, count: [[lane] for lane in range(size)],
    "gl_SubgroupEqMask": mask(lambda place, lane: place == lane),
    "gl_SubgroupGeMask": mask(lambda place, lane: place >= lane),
    "gl_SubgroupGtMask": mask(lambda place, lane: place > lane),
    "gl_SubgroupLeMask": mask(lambda place, lane: place <= lane),
    "gl_SubgroupLtMask": mask(lambda place, lane: place < lane),
}

FUNCTIONS = {
    "subgroupBarrier": barrier,
    "subgroupMemoryBarrier": barrier,
    "subgroupMemoryBarrierBuffer": barrier,
    "subgroupMemoryBarrierShared": barrier,
    "subgroupMemoryBarrierImage": barrier,
    "subgroupElect": elect,
    "subgroupAll": vote_all,
    "subgroupAny": vote_any,
    "subgroupAllEqual": all_equal,
    **{f"subgroup{operator}": reduction(operator) for operator in COMBINE},
    **{f"subgroupInclusive{operator}": inclusive(operator) for operator in COMBINE},
    **{f"subgroupExclusive{operator}": exclusive(operator) for operator in COMBINE},
    **{f"subgroupClustered{operator}": clustered(operator) for operator in COMBINE},
    "subgroupBroadcast": broadcast,
    "subgroupBroadcastFirst": broadcast_first,
    "subgroupBallot": ballot,
    "subgroupInverseBallot": inverse_ballot,
    "subgroupBallotBitExtract": ballot_bit_extract,
    "subgroupBallotBitCount": bit_count(lambda lane, size: size),
    "subgroupBallotInclusiveBitCount": bit_count(lambda lane, size: lane + 1),
    "subgroupBallotExclusiveBitCount": bit_count(lambda lane, size: lane),
    "subgroupBallotFindLSB": find_lsb,
    "subgroupBallotFindMSB": find_msb,
    "subgroupShuffle": shuffle,
    "subgroupShuffleXor": shuffle_xor,
    "subgroupShuffleUp": shuffle_up,
    "subgroupShuffleDown": shuffle_down,
    "subgroupQuadBroadcast": quad_broadcast,
    "subgroupQuadSwapHorizontal": quad_swap([1, 0, 3, 2]),
    "subgroupQuadSwapVertical": quad_swap([2, 3, 0, 1]),
    "subgroupQuadSwapDiagonal": quad_swap([3, 2, 1, 0]),
}
