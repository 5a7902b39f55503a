"""Wrong subgroup operations that the suite must catch.

Every mutation names the cases that are run with it, and the driver: clustered operations need lavapipe.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from mutants.changes import (
    ALL,
    ALL_EQUAL,
    AND,
    ANY,
    BROADCAST,
    BROADCAST_FIRST,
    CLUSTERED,
    CONTROL_BARRIER,
    ELECT,
    EQ,
    EXCLUSIVE,
    EXTRACT,
    FADD,
    FMAX,
    FMIN,
    FMUL,
    GE,
    GROUP_OPERATIONS,
    GT,
    IADD,
    IMAGE_WRITE,
    IMUL,
    INCLUSIVE,
    INVERSE,
    LAND,
    LANE,
    LE,
    LOR,
    LSB,
    LT,
    LXOR,
    MSB,
    NUM_SUBGROUPS,
    OR,
    QUAD_BROADCAST,
    QUAD_SWAP,
    REDUCE,
    SHUFFLE,
    SHUFFLE_DOWN,
    SHUFFLE_UP,
    SHUFFLE_XOR,
    SMAX,
    SMIN,
    STORE,
    SUBGROUP_ID,
    SUBGROUP_SIZE,
    THIRD,
    UMAX,
    UMIN,
    VALUE,
    XOR,
    Change,
    always,
    another_constant,
    another_group_operation,
    another_opcode,
    ballot_of,
    own_value,
    swapped_builtins,
)
from mutants.rewriting import Words, assemble, instructions, rewritten


def _unclustered(data: bytes) -> bytes:
    def rewrite(i: Words) -> list[Words]:
        return [[*i[:VALUE], REDUCE, i[THIRD]]] if i[0] in GROUP_OPERATIONS and i[VALUE] == CLUSTERED else [i]

    return rewritten(data, rewrite)


def _load_before_store(data: bytes) -> bytes:
    """Move each store before a barrier to after the loads that follow it.

    A missing barrier permits that. Lanes in lockstep do not show that a barrier is missing.
    """
    body = instructions(data)
    moved: list[Words] = []
    held: Words | None = None
    for i in body:
        if i[0] == CONTROL_BARRIER and moved and moved[-1][0] in (STORE, IMAGE_WRITE) and held is None:
            held = moved.pop()
            continue
        moved.append(i)
        if held is not None and i[0] == CONTROL_BARRIER:
            moved.insert(len(moved) - 1, held)
            held = None
    if held is not None:
        raise AssertionError("a store was removed and not inserted again")
    header = data[:20]
    return assemble(header, moved)


@dataclass(frozen=True)
class Mutation:
    """One planted error and the cases that must show it."""

    name: str
    cases: str
    mutate: Change
    driver: str = "swiftshader"


def _swap(name: str, cases: str, old: int, new: int) -> Mutation:
    return Mutation(name, cases, partial(another_opcode, old, new))


def _builtin(name: str, variable: str, old: int, new: int) -> Mutation:
    return Mutation(name, f"*.compute.{variable}.*", partial(swapped_builtins, old, new))


MUTATIONS = (
    _swap("All is Any", "vote.compute.subgroupAll.bool.*", ALL, ANY),
    _swap("Any is All", "vote.compute.subgroupAny.bool.*", ANY, ALL),
    Mutation("AllEqual is true", "vote.compute.subgroupAllEqual.int.*", partial(always, ALL_EQUAL, True)),
    Mutation("AllEqual is false", "vote.compute.subgroupAllEqual.uint.*", partial(always, ALL_EQUAL, False)),
    Mutation("every lane is elected", "basic.compute.subgroupElect.*", partial(always, ELECT, True)),
    Mutation("no lane is elected", "basic.compute.subgroupElect.*", partial(always, ELECT, False)),
    _swap("Add is Mul (int)", "arithmetic.compute.subgroupAdd.int.*", IADD, IMUL),
    _swap("Mul is Add (uvec4)", "arithmetic.compute.subgroupMul.uvec4.*", IMUL, IADD),
    _swap("Add is Mul (float)", "arithmetic.compute.subgroupAdd.float.*.exact", FADD, FMUL),
    _swap("Mul is Add (vec2)", "arithmetic.compute.subgroupMul.vec2.*.exact", FMUL, FADD),
    _swap("Add is Max (rounding data)", "arithmetic.compute.subgroupAdd.vec4.*.rounding", FADD, FMAX),
    _swap("Mul is Max (rounding data)", "arithmetic.compute.subgroupMul.float.*.rounding", FMUL, FMAX),
    _swap("Min is Max (int)", "arithmetic.compute.subgroupMin.int.*", SMIN, SMAX),
    _swap("Min is Max (uint)", "arithmetic.compute.subgroupMin.uint.*", UMIN, UMAX),
    _swap("Min is Max (float)", "arithmetic.compute.subgroupMin.float.*", FMIN, FMAX),
    _swap("Max is Min (special data)", "arithmetic.compute.subgroupMax.float.*.special", FMAX, FMIN),
    _swap("unsigned Max is signed", "arithmetic.compute.subgroupMax.uvec3.*", UMAX, SMAX),
    _swap("And is Or", "arithmetic.compute.subgroupAnd.uint.*", AND, OR),
    _swap("Or is Xor", "arithmetic.compute.subgroupOr.int.*", OR, XOR),
    _swap("Xor is Or", "arithmetic.compute.subgroupXor.uvec2.*", XOR, OR),
    _swap("logical And is Or", "arithmetic.compute.subgroupAnd.bool.*", LAND, LOR),
    _swap("logical Or is Xor", "arithmetic.compute.subgroupOr.bvec4.*", LOR, LXOR),
    _swap("logical Xor is And", "arithmetic.compute.subgroupXor.bool.*", LXOR, LAND),
    Mutation(
        "Reduce is InclusiveScan",
        "arithmetic.compute.subgroupAdd.uint.*",
        partial(another_group_operation, REDUCE, INCLUSIVE),
    ),
    Mutation(
        "InclusiveScan is ExclusiveScan",
        "arithmetic.compute.subgroupInclusiveMax.int.*",
        partial(another_group_operation, INCLUSIVE, EXCLUSIVE),
    ),
    Mutation(
        "ExclusiveScan is InclusiveScan",
        "arithmetic.compute.subgroupExclusiveMul.float.*.exact",
        partial(another_group_operation, EXCLUSIVE, INCLUSIVE),
    ),
    Mutation(
        "InclusiveScan is Reduce",
        "arithmetic.compute.subgroupInclusiveAnd.bool.*",
        partial(another_group_operation, INCLUSIVE, REDUCE),
    ),
    Mutation(
        "BitCount is its inclusive scan",
        "ballot.compute.subgroupBallotBitCount.*",
        partial(another_group_operation, REDUCE, INCLUSIVE),
    ),
    Mutation(
        "exclusive BitCount is inclusive",
        "ballot.compute.subgroupBallotExclusiveBitCount.*",
        partial(another_group_operation, EXCLUSIVE, INCLUSIVE),
    ),
    _swap("FindLSB is FindMSB", "ballot.compute.subgroupBallotFindLSB.*", LSB, MSB),
    _swap("FindMSB is FindLSB", "ballot.compute.subgroupBallotFindMSB.*", MSB, LSB),
    Mutation(
        "InverseBallot is true", "ballot.compute.subgroupInverseBallot.*", partial(always, INVERSE, True)
    ),
    Mutation(
        "BitExtract is false", "ballot.compute.subgroupBallotBitExtract.*", partial(always, EXTRACT, False)
    ),
    Mutation(
        "BroadcastFirst is the own value",
        "ballot.compute.subgroupBroadcastFirst.uint.*",
        partial(own_value, BROADCAST_FIRST),
    ),
    Mutation(
        "Broadcast is the own value",
        "ballot.compute.subgroupBroadcast.vec4.*",
        partial(own_value, BROADCAST),
    ),
    Mutation(
        "Broadcast takes the next lane",
        "ballot.compute.subgroupBroadcast.int.*.first",
        partial(another_constant, BROADCAST, 5, lambda value: value + 1),
    ),
    _swap("Shuffle is ShuffleXor", "shuffle.compute.subgroupShuffle.uint.*", SHUFFLE, SHUFFLE_XOR),
    _swap("ShuffleXor is Shuffle", "shuffle.compute.subgroupShuffleXor.ivec3.*", SHUFFLE_XOR, SHUFFLE),
    Mutation(
        "the mask of ShuffleXor is off by one",
        "shuffle.compute.subgroupShuffleXor.float.*.by2",
        partial(another_constant, SHUFFLE_XOR, 5, lambda value: value - 1),
    ),
    _swap(
        "ShuffleUp is ShuffleDown",
        "shuffle_relative.compute.subgroupShuffleUp.uint.*",
        SHUFFLE_UP,
        SHUFFLE_DOWN,
    ),
    _swap(
        "ShuffleDown is ShuffleUp",
        "shuffle_relative.compute.subgroupShuffleDown.vec2.*",
        SHUFFLE_DOWN,
        SHUFFLE_UP,
    ),
    Mutation(
        "the delta of ShuffleDown is off by one",
        "shuffle_relative.compute.subgroupShuffleDown.int.*.by1",
        partial(another_constant, SHUFFLE_DOWN, 5, lambda value: value + 1),
    ),
    Mutation(
        "horizontal is vertical",
        "quad.compute.subgroupQuadSwapHorizontal.uint.*",
        partial(another_constant, QUAD_SWAP, 5, lambda value: 1),
    ),
    Mutation(
        "diagonal is horizontal",
        "quad.compute.subgroupQuadSwapDiagonal.vec3.*",
        partial(another_constant, QUAD_SWAP, 5, lambda value: 0),
    ),
    Mutation(
        "QuadBroadcast takes another invocation",
        "quad.compute.subgroupQuadBroadcast.float.*.q1",
        partial(another_constant, QUAD_BROADCAST, 5, lambda value: 0),
    ),
    Mutation(
        "clusters of 4 are clusters of 2",
        "clustered.compute.subgroupClusteredAdd.int.*.c4",
        partial(another_constant, IADD, 6, lambda value: 2),
        driver="lavapipe",
    ),
    Mutation(
        "clusters are the subgroup",
        "clustered.compute.subgroupClusteredMax.uint.*.c4",
        _unclustered,
        driver="lavapipe",
    ),
    _builtin("LtMask is LeMask", "gl_SubgroupLtMask", LT, LE),
    _builtin("GeMask is GtMask", "gl_SubgroupGeMask", GE, GT),
    _builtin("EqMask is GeMask", "gl_SubgroupEqMask", EQ, GE),
    _builtin("the lane is the subgroup", "gl_SubgroupInvocationID", LANE, SUBGROUP_ID),
    _builtin("NumSubgroups is SubgroupSize", "gl_NumSubgroups", NUM_SUBGROUPS, SUBGROUP_SIZE),
    Mutation("Ballot is empty", "ballot.compute.subgroupBallot.*", partial(ballot_of, False)),
    Mutation(
        "a barrier's writes come late (shared)",
        "basic.compute.subgroupBarrier.uint.*.shared",
        _load_before_store,
    ),
    Mutation(
        "a barrier's writes come late (buffer)",
        "basic.compute.subgroupBarrier.uint.*.buffer",
        _load_before_store,
    ),
    Mutation(
        "a barrier's writes come late (image)",
        "basic.compute.subgroupBarrier.uint.*.image",
        _load_before_store,
    ),
)


def _in_fragments(mutation: Mutation) -> Mutation:
    """Return the same mutation of the cases in fragment shaders."""
    cases = mutation.cases.replace(".compute.", ".fragment.")
    return replace(mutation, name=f"{mutation.name} (fragment)", cases=cases)


# Mutations of features of workgroups, and of the values that each fragment case records first, are omitted.
_COMPUTE_ALONE = (".shared", "gl_NumSubgroups", "gl_SubgroupInvocationID")

FRAGMENT_MUTATIONS = tuple(
    _in_fragments(mutation)
    for mutation in MUTATIONS
    if not any(word in mutation.cases for word in _COMPUTE_ALONE)
)
