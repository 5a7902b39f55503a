"""Wrong rotations, partitions and operands that the suite must catch, planted into modules.

Every mutation names the cases that are run with it; partitions run on the reference device, because no
software driver has them.
"""

from __future__ import annotations

import struct
from functools import partial

from mutants.changes import (
    AND,
    ARITHMETIC,
    BROADCAST,
    BROADCAST_FIRST,
    CAPABILITY,
    COMPOSITE_EXTRACT,
    COPY_OBJECT,
    FADD,
    FMAX,
    FMIN,
    FOURTH,
    IADD,
    IMUL,
    LAND,
    LOR,
    LXOR,
    OR,
    PARTITION,
    PARTITIONED_EXCLUSIVE,
    PARTITIONED_INCLUSIVE,
    PARTITIONED_REDUCE,
    QUAD_BROADCAST,
    ROTATE,
    SHUFFLE,
    SHUFFLE_DOWN,
    SHUFFLE_UP,
    SHUFFLE_XOR,
    SMAX,
    SMIN,
    SPEC_CONSTANT,
    THIRD,
    TYPE_VECTOR,
    UMAX,
    UMIN,
    VALUE,
    XOR,
    Change,
    another_constant,
    another_group_operation,
    another_opcode,
    own_value,
)
from mutants.rewriting import Words, assemble, editor_of, instructions, integer_constants, rewritten
from mutants.subgroup_mutations import Mutation

SHUFFLE_RELATIVE = 66
"""SPIR-V, "Capability": GroupNonUniformShuffleRelative."""


def shuffled(new: int, data: bytes) -> bytes:
    """Replace rotations by shuffles that do not wrap around."""
    body = [[CAPABILITY, SHUFFLE_RELATIVE], *instructions(data)]
    return assemble(data[:20], [[new, *i[1:FOURTH]] if i[0] == ROTATE else i for i in body])


def unclustered(data: bytes) -> bytes:
    return rewritten(data, lambda i: [i[:FOURTH]] if i[0] == ROTATE else [i])


def as_declared(opcode_: int, data: bytes) -> bytes:
    """Replace specialization constants by their default values."""
    special = {i[2]: i[3] for i in instructions(data) if i[0] == SPEC_CONSTANT}
    ids = integer_constants(data)

    def rewrite(i: Words) -> list[Words]:
        if i[0] != opcode_ or i[THIRD] not in special:
            return [i]
        return [[*i[:THIRD], ids[special[i[THIRD]]], *i[FOURTH:]]]

    return rewritten(data, rewrite)


def ones(data: bytes) -> tuple[bytes, int]:
    """Return a module with a constant ballot of ones, and its id."""
    editor = editor_of(data)
    uint = editor.integer()
    ballot = editor.composite(editor.vector(uint, 4), *[editor.constant(uint, 2**32 - 1)] * 4)
    return editor.joined(editor.instructions).to_bytes(), ballot


def one_subset(data: bytes) -> bytes:
    """Make every partition a single subset."""
    data, ballot = ones(data)

    def rewrite(i: Words) -> list[Words]:
        partitioned = i[0] in ARITHMETIC and i[VALUE] in (
            PARTITIONED_REDUCE,
            PARTITIONED_INCLUSIVE,
            PARTITIONED_EXCLUSIVE,
        )
        return [[*i[:FOURTH], ballot]] if partitioned else [i]

    return rewritten(data, rewrite)


def one_class(data: bytes) -> bytes:
    """Make subgroupPartitionNV treat all values as equal."""
    data, ballot = ones(data)
    return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], ballot]] if i[0] == PARTITION else [i])


def unpartitioned(new: int, data: bytes) -> bytes:
    """Replace partitioned operations by operations on the whole subgroup."""

    def rewrite(i: Words) -> list[Words]:
        return [[*i[:VALUE], new, i[THIRD]]] if i[0] in ARITHMETIC and i[VALUE] >= PARTITIONED_REDUCE else [i]

    return rewritten(data, rewrite)


def first_component(data: bytes) -> bytes:
    """Make subgroupPartitionNV compare only the first component of vectors."""
    body = instructions(data)
    vectors = {i[1]: i[2] for i in body if i[0] == TYPE_VECTOR}
    types = {i[2]: i[1] for i in body if len(i) > 2}
    bound = struct.unpack_from("<I", data, 12)[0]
    made: list[Words] = []
    for i in body:
        if i[0] == PARTITION and types[i[3]] in vectors:
            made.append([COMPOSITE_EXTRACT, vectors[types[i[3]]], bound, i[3], 0])
            i = [*i[:3], bound]
            bound += 1
        made.append(i)
    return assemble(data[:12] + struct.pack("<I", bound) + data[16:20], made)


def _rotation(name: str, cases: str, mutate: Change) -> Mutation:
    return Mutation(name, f"rotate{cases}", mutate, driver="lavapipe")


def _partition(name: str, cases: str, mutate: Change) -> Mutation:
    return Mutation(name, f"partitioned.{cases}", mutate, driver="reference:8")


ROTATE_CASES, CLUSTERED_CASES = ".compute.subgroupRotate.", "_clustered.compute.subgroupClusteredRotate."
SUM, INCLUSIVE_SUM, EXCLUSIVE_SUM = (
    f"compute.subgroupPartitioned{infix}AddNV." for infix in ("", "Inclusive", "Exclusive")
)

LATER_MUTATIONS = (
    _rotation(
        "Rotate goes one further",
        f"{ROTATE_CASES}*.exact.by2",
        partial(another_constant, ROTATE, THIRD, lambda n: n + 1),
    ),
    _rotation(
        "Rotate stops one short",
        f"{ROTATE_CASES}*.exact.half",
        partial(another_constant, ROTATE, THIRD, lambda n: n - 1),
    ),
    _rotation(
        "Rotate does not go beyond",
        f"{ROTATE_CASES}u*.exact.beyond",
        partial(another_constant, ROTATE, THIRD, lambda n: 8),
    ),
    # lavapipe's ShuffleDown wraps around, where it may do anything.
    Mutation(
        "Rotate is ShuffleDown", "rotate.*uint.*", partial(shuffled, SHUFFLE_DOWN), driver="reference:8"
    ),
    _rotation("Rotate is ShuffleUp", f"{ROTATE_CASES}vec3.*.exact.*", partial(shuffled, SHUFFLE_UP)),
    _rotation("Rotate is the own value", f"{ROTATE_CASES}bvec4.*", partial(own_value, ROTATE)),
    _rotation(
        "a specialized distance is not given", f"{ROTATE_CASES}*.specialized", partial(as_declared, ROTATE)
    ),
    _rotation(
        "a distance is each lane's own", f"{ROTATE_CASES}i*.leader", partial(own_value, BROADCAST_FIRST)
    ),
    _rotation(
        "clusters of 4 are clusters of 2",
        f"{CLUSTERED_CASES}*.exact.by2_c4",
        partial(another_constant, ROTATE, FOURTH, lambda n: 2),
    ),
    _rotation(
        "clusters of 2 are clusters of 4",
        f"{CLUSTERED_CASES}*.exact.by1_c2",
        partial(another_constant, ROTATE, FOURTH, lambda n: 4),
    ),
    _rotation(
        "clusters of 1 are clusters of 2",
        f"{CLUSTERED_CASES}*.exact.by1_c1",
        partial(another_constant, ROTATE, FOURTH, lambda n: 2),
    ),
    _rotation("rotated clusters are the subgroup", f"{CLUSTERED_CASES}f16vec2.*.*_c4", unclustered),
    _rotation(
        "clusters do not wrap around", f"{CLUSTERED_CASES}dvec2.*.exact.*_c4", partial(shuffled, SHUFFLE_DOWN)
    ),
    _rotation(
        "the largest distance is none",
        f"{CLUSTERED_CASES}*.exact.largest_c4",
        partial(another_constant, ROTATE, THIRD, lambda n: 0),
    ),
    Mutation(
        "Broadcast ignores a specialization",
        "ballot.compute.subgroupBroadcast.*.specialized",
        partial(as_declared, BROADCAST),
    ),
    Mutation(
        "Shuffle ignores a specialization",
        "shuffle.compute.subgroupShuffle.*.specialized",
        partial(as_declared, SHUFFLE),
    ),
    Mutation(
        "ShuffleXor ignores a specialization",
        "shuffle.compute.subgroupShuffleXor.*.specialized",
        partial(as_declared, SHUFFLE_XOR),
    ),
    Mutation(
        "ShuffleUp ignores a specialization",
        "shuffle_relative.compute.subgroupShuffleUp.*.specialized",
        partial(as_declared, SHUFFLE_UP),
    ),
    Mutation(
        "QuadBroadcast ignores a specialization",
        "quad.compute.subgroupQuadBroadcast.*.specialized",
        partial(as_declared, QUAD_BROADCAST),
    ),
    Mutation(
        "Shuffle takes each lane's own id",
        "shuffle.compute.subgroupShuffle.*.leader",
        partial(own_value, BROADCAST_FIRST),
    ),
    Mutation(
        "ShuffleDown takes each lane's own distance",
        "shuffle_relative.compute.subgroupShuffleDown.*.leader",
        partial(own_value, BROADCAST_FIRST),
    ),
    _partition("every partition is one subset", f"{SUM}*.exact.*", one_subset),
    _partition("every partition is one subset (scan)", f"{INCLUSIVE_SUM}f*.equal", one_subset),
    _partition(
        "a partition is left out", "compute.subgroupPartitionedMaxNV.*.exact.equal", partial(unpartitioned, 0)
    ),
    _partition("a partition is left out (scan)", f"{EXCLUSIVE_SUM}*.exact.blocks", partial(unpartitioned, 2)),
    _partition(
        "a partitioned sum is an inclusive scan",
        f"{SUM}ivec2.*.exact.equal",
        partial(another_group_operation, PARTITIONED_REDUCE, PARTITIONED_INCLUSIVE),
    ),
    _partition(
        "a partitioned inclusive scan is exclusive",
        f"{INCLUSIVE_SUM}uint.*",
        partial(another_group_operation, PARTITIONED_INCLUSIVE, PARTITIONED_EXCLUSIVE),
    ),
    _partition(
        "a partitioned exclusive scan is inclusive",
        f"{EXCLUSIVE_SUM}float.*.exact.*",
        partial(another_group_operation, PARTITIONED_EXCLUSIVE, PARTITIONED_INCLUSIVE),
    ),
    _partition(
        "a partitioned sum rounds like a maximum",
        f"{SUM}vec2.*.rounding.*",
        partial(another_opcode, FADD, FMAX),
    ),
    _partition("a partitioned sum is a product", f"{SUM}u*.exact.*", partial(another_opcode, IADD, IMUL)),
    _partition(
        "a partitioned minimum is a maximum",
        "compute.subgroupPartitionedMinNV.i*.exact.*",
        partial(another_opcode, SMIN, SMAX),
    ),
    _partition(
        "a partitioned unsigned minimum is signed",
        "compute.subgroupPartitionedInclusiveMinNV.uvec3.*",
        partial(another_opcode, UMIN, SMIN),
    ),
    _partition(
        "a partitioned minimum is a maximum (special)",
        "compute.subgroupPartitionedMinNV.float.*.special.*",
        partial(another_opcode, FMIN, FMAX),
    ),
    _partition(
        "a partitioned unsigned maximum is signed",
        "compute.subgroupPartitionedMaxNV.u*.exact.*",
        partial(another_opcode, UMAX, SMAX),
    ),
    _partition(
        "a partitioned And is Or",
        "compute.subgroupPartitionedAndNV.u*.exact.*",
        partial(another_opcode, AND, OR),
    ),
    _partition(
        "a partitioned Or is Xor",
        "compute.subgroupPartitionedOrNV.i*.exact.*",
        partial(another_opcode, OR, XOR),
    ),
    _partition(
        "a partitioned Xor is Or", "compute.subgroupPartitionedXorNV.uint.*", partial(another_opcode, XOR, OR)
    ),
    _partition(
        "a partitioned logical And is Or",
        "compute.subgroupPartitionedAndNV.bool.*",
        partial(another_opcode, LAND, LOR),
    ),
    _partition(
        "a partitioned logical Or is Xor",
        "compute.subgroupPartitionedOrNV.bvec4.*",
        partial(another_opcode, LOR, LXOR),
    ),
    _partition("PartitionNV finds all values equal", "compute.subgroupPartitionNV.*.exact", one_class),
    _partition(
        "PartitionNV looks at one component", "compute.subgroupPartitionNV.*vec*.exact", first_component
    ),
)
