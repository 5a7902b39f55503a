"""Operands after the value: choices of ids, masks, deltas, indices, cluster sizes and partitions.

A choice is a GLSL expression and its NumPy equivalent. Constants that depend on the subgroup size
are written as literals once the size is known, because the specification requires constant
expressions. Choices named ``beyond`` lie outside the subgroup: their results are undefined (except for
rotations, which wrap around), and the case only tests that the device does not crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.arrays import Flags, Indices
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import SUBGROUP_SIZES
from vkgroup.spec.operations import SUBGROUP_OPERATIONS, OperandKind, Operation

Lanes = NDArray[np.uint32]
Labels = Callable[[Lanes, Lanes], NDArray[np.integer[Any]]]


@dataclass(frozen=True)
class OperandChoice:
    """A choice for one kind of operand."""

    name: str  # the choice's part in the name of a case
    sentence: str  # a phrase for the choice, to complete "with …"
    #: Subgroup size → the constant that is written into the shader, or None.
    literal: Callable[[int], int] | None = None
    #: GLSL expression of `lane`, `size` and, for a partition, `mask` (the active lanes) and ``{word}`` (the
    #: invocation's word of the table), if the operand differs between lanes; else None.
    expression: str | None = None
    #: (lane (rows, size), subgroup size) → operand of each lane, the NumPy equivalent of `expression`.
    lanes: Callable[[Lanes, int], Lanes] | None = None
    #: (generator, subgroup size, count) → uint32 words that the shader reads: one per workgroup if
    #: `uniform`, else one per invocation. None if nothing is read.
    table: Callable[[np.random.Generator, int, int], Lanes] | None = None
    uniform: bool = False  # the table has one entry per workgroup, so the operand is dynamically uniform
    #: All lanes use the word of the first active lane, so the operand is dynamically uniform.
    leader: bool = False
    specialized: bool = False  # the literal is passed as a specialization constant
    #: The size of the clusters, which is the operand or the one after it; 0 if there are no clusters.
    cluster: int = 0
    #: (lane (rows, size), word (rows, size)) → a number for each lane, the same for lanes of the same subset
    #: of a partition; the NumPy equivalent of `expression`, a ballot. None for other operands.
    labels: Labels | None = None
    narrow: bool = False  # combined with few patterns only; see `vkgroup.conformance.subgroup.cases`

    @property
    def dynamic(self) -> bool:
        """Whether the operand is not a constant expression."""
        return self.literal is None

    @property
    def observes(self) -> bool:
        """Whether the operand is computed with ballots or broadcasts."""
        return self.leader or self.labels is not None


def _constant(name: str, sentence: str, value: Callable[[int], int], narrow: bool = False) -> OperandChoice:
    return OperandChoice(name, sentence, literal=value, narrow=narrow)


def _specialized(what: str, value: Callable[[int], int]) -> OperandChoice:
    sentence = f"{what}, a specialization constant"
    return OperandChoice("specialized", sentence, literal=value, specialized=True, narrow=True)


def _leader(what: str, table: Callable[[np.random.Generator, int, int], Lanes]) -> OperandChoice:
    return OperandChoice(
        "leader", f"{what} that the first active lane chose", table=table, leader=True, narrow=True
    )


def _always(value: int) -> Callable[[int], int]:
    return lambda size: value


def _ids_below(limit: Callable[[int], int]) -> Callable[[np.random.Generator, int, int], Lanes]:
    def table(generator: np.random.Generator, size: int, count: int) -> Lanes:
        return generator.integers(0, limit(size), count, dtype=np.uint32)

    return table


def _powers_below_size(generator: np.random.Generator, size: int, count: int) -> Lanes:
    exponents = generator.integers(0, max(size.bit_length() - 1, 1), count, dtype=np.uint32)
    return np.left_shift(np.uint32(1), exponents, dtype=np.uint32)


def _within(size: int) -> int:
    return size


def _twice(size: int) -> int:
    return 2 * size


_FIRST = _constant("first", "lane 0", lambda size: 0)
_LAST = _constant("last", "the subgroup's last lane", lambda size: size - 1)
_MIDDLE = _constant("middle", "the lane in the middle", lambda size: size // 2)
_BEYOND = _constant("beyond", "a number no smaller than the subgroup's size", lambda size: size)
_UNIFORM = OperandChoice(
    "dynamic", "a dynamically uniform value from memory", table=_ids_below(_within), uniform=True
)
_PER_LANE = OperandChoice("data", "a value from memory that differs between lanes", table=_ids_below(_within))
_STRADDLING = OperandChoice(
    "straddling", "values from memory, half of them beyond the subgroup", table=_ids_below(_twice)
)

_ID_FROM_LEADER = _leader("a lane", _ids_below(_within))
_ID_SPECIALIZED = _specialized("the last lane", lambda size: size - 1)
_ONE_SPECIALIZED = _specialized("1", _always(1))

_SHUFFLE_IDS = (
    _LAST,
    OperandChoice(
        "reverse", "the lanes in reverse", expression="size - 1u - lane",
        lanes=lambda lane, size: (size - 1 - lane).astype(np.uint32),
    ),
    OperandChoice(
        "rotate", "the next lane, the last wrapping around", expression="(lane + 1u) % size",
        lanes=lambda lane, size: ((lane + 1) % size).astype(np.uint32),
    ),
    _UNIFORM,
    _PER_LANE,
    _STRADDLING,
    _ID_SPECIALIZED,
    _ID_FROM_LEADER,
)  # fmt: skip

_DELTAS = (
    _constant("by1", "a distance of 1", lambda size: 1),
    _constant("by2", "a distance of 2", lambda size: 2),
    _constant("half", "a distance of half the subgroup", lambda size: size // 2),
    _constant("furthest", "the greatest distance inside the subgroup", lambda size: size - 1),
    _BEYOND,
    _UNIFORM,
    _PER_LANE,
    _ONE_SPECIALIZED,
    _leader("a distance", _ids_below(_within)),
)

_MASKS = (
    _constant("by1", "mask 1", lambda size: 1),
    _constant("by2", "mask 2", lambda size: 2),
    _constant("half", "mask half the subgroup's size", lambda size: max(size // 2, 1)),
    _BEYOND,
    OperandChoice(
        "dynamic", "a dynamically uniform mask from memory", table=_powers_below_size, uniform=True
    ),
    _PER_LANE,
    _ONE_SPECIALIZED,
    _leader("a mask", _ids_below(_within)),
)

_QUAD_IDS = (
    *(_constant(f"q{i}", f"the quad's invocation {i}", _always(i)) for i in range(4)),
    _constant("beyond", "an index beyond the quad", lambda size: 4),
    OperandChoice("dynamic", "a dynamically uniform index", table=_ids_below(lambda size: 4), uniform=True),
    _specialized("the quad's invocation 2", _always(2)),
    _leader("an index", _ids_below(lambda size: 4)),
)

_CLUSTERS = tuple(
    OperandChoice(f"c{n}", f"clusters of {n}", literal=_always(n), cluster=n) for n in SUBGROUP_SIZES
)

_LARGEST = 2**32 - 1

# A rotation's distance wraps around (KHR_shader_subgroup_rotate: "the remainder of the division"), and so
# does the sum of lane and distance ("the low-order 32 bits"). It must be dynamically uniform.
_ROTATIONS = (
    _constant("by1", "a distance of 1", _always(1), narrow=True),
    _constant("by2", "a distance of 2", _always(2)),
    _constant("by5", "a distance of 5", _always(5), narrow=True),
    _constant("half", "a distance of half the subgroup", lambda size: size // 2, narrow=True),
    _constant("furthest", "a distance of all but one lanes", lambda size: size - 1, narrow=True),
    _constant("beyond", "a distance of the whole subgroup and 3", lambda size: size + 3, narrow=True),
    _constant("largest", "a distance of 2^32 - 1", _always(_LARGEST), narrow=True),
    OperandChoice(
        "dynamic", "a dynamically uniform distance from memory", table=_ids_below(_twice), uniform=True
    ),
    _ONE_SPECIALIZED,
    _leader("a distance", _ids_below(_twice)),
)

_REPRESENTATIVE_CLUSTER = 4


def _clustered_rotations() -> Iterator[OperandChoice]:
    """Yield two rotations in clusters of every size, and every rotation in clusters of one size."""
    for rotation in _ROTATIONS:
        for n in SUBGROUP_SIZES if rotation.name in ("by1", "dynamic") else (_REPRESENTATIVE_CLUSTER,):
            yield replace(
                rotation,
                name=f"{rotation.name}_c{n}",
                sentence=f"{rotation.sentence} in clusters of {n}",
                cluster=n,
                narrow=rotation.narrow or n != _REPRESENTATIVE_CLUSTER,
            )


def _labels(generator: np.random.Generator, size: int, count: int) -> Lanes:
    """Return numbers below 64, 8, 3 and 2, one limit per workgroup."""
    limits = np.array([64, 8, 3, 2], np.uint32)
    return np.asarray(generator.integers(0, np.repeat(limits, count // len(limits)), dtype=np.uint32))


def _partition(
    name: str, sentence: str, ballot: str, labels: Labels, *, reads: bool = False
) -> OperandChoice:
    table = _labels if reads else None
    return OperandChoice(
        name, sentence, expression=ballot, labels=labels, table=table, narrow=name != "equal"
    )


# Ballots that are valid partitions (NV_shader_subgroup_partitioned, section 3.8): each active lane's has its
# own bit, and equals that of every active lane whose bit it has. Bits of inactive lanes are ignored.
_PARTITIONS = (
    _partition(
        "equal", "the subgroupPartitionNV of numbers from memory", "subgroupPartitionNV({word})",
        lambda lane, word: word, reads=True,
    ),
    _partition(
        "voted", "the ballots of four choices from memory", "ballot_of_equals({word} & 3u)",
        lambda lane, word: word & 3, reads=True,
    ),
    _partition(
        "strided", "every fourth active lane a subset", "(mask & uvec4(0x11111111u << (lane & 3u)))",
        lambda lane, word: lane & 3,
    ),
    _partition(
        "blocks", "four neighbours a subset, active or not", "ballot_of_block(lane)",
        lambda lane, word: lane >> 2,
    ),
    _partition("alone", "each lane a subset", "gl_SubgroupEqMask", lambda lane, word: lane),
    _partition("active", "all active lanes a subset", "mask", lambda lane, word: lane & 0),
    _partition("ones", "ballots of nothing but ones", "uvec4(0xffffffffu)", lambda lane, word: lane & 0),
)  # fmt: skip

PARTITION_FUNCTIONS = """uvec4 ballot_of_equals(uint choice) {
    uvec4 found = uvec4(0u);
    for (uint one = 0u; one < 4u; ++one) {
        uvec4 same = subgroupBallot(choice == one);
        if (choice == one) found = same;
    }
    return found;
}
uvec4 ballot_of_block(uint lane) {
    uvec4 found = uvec4(0u);
    found[lane >> 5u] = 0xfu << (lane & 28u);
    return found;
}"""
"""GLSL functions that the expressions of partitions call."""

_BIT_INDICES = (
    _FIRST,
    _LAST,
    OperandChoice("lane", "the lane's own index", expression="lane", lanes=lambda lane, size: lane),
    _PER_LANE,
    _STRADDLING,
)

CHOICES: dict[str, dict[str, OperandChoice]] = {
    family: {operand.name: operand for operand in operands}
    for family, operands in {
        "uniform id": (_FIRST, _MIDDLE, _LAST, _BEYOND, _UNIFORM, _ID_SPECIALIZED, _ID_FROM_LEADER),
        "id": _SHUFFLE_IDS,
        "mask": _MASKS,
        "delta": _DELTAS,
        "index": _BIT_INDICES,
        "quad id": _QUAD_IDS,
        "uniform delta": _ROTATIONS,
        "uniform delta, cluster_size": tuple(_clustered_rotations()),
        "cluster_size": _CLUSTERS,
        "ballot": _PARTITIONS,
    }.items()
}
"""Choices by name, by the family of the operands (see `family_of`)."""

REPRESENTATIVES: dict[str, tuple[str, ...]] = {
    "uniform id": ("last", "dynamic"),
    "id": ("data",),
    "mask": ("by1", "dynamic", "data"),
    "delta": ("by1", "dynamic", "data"),
    "index": ("data",),
    "quad id": ("q2", "dynamic"),
    "uniform delta": ("by2", "dynamic"),
    "uniform delta, cluster_size": ("by2_c4", "dynamic_c4"),
    "cluster_size": ("c4",),
    "ballot": ("equal",),
}
"""Representatives by family: one choice of each kind, for axes that are not combined with all choices."""


def family_of(operation: Operation) -> str:
    """Return the family of an operation's operands after the first, ``"uniform id"``; "" without any."""
    words = []
    for operand in operation.operands[1:]:
        if operand.kind is OperandKind.ID and operation.category is Category.QUAD:
            words.append("quad id")
        else:
            words.append(f"uniform {operand.kind.value}" if operand.uniform else operand.kind.value)
    return ", ".join(words)


@cache
def choices(operation: str) -> dict[str, OperandChoice]:
    """Return the choices of an operation's other operands; empty if it has none."""
    row = SUBGROUP_OPERATIONS.get(operation)
    return {} if row is None else CHOICES.get(family_of(row), {})


@cache
def represents(operation: str, operand: str) -> bool:
    """Return whether a choice is a representative of an operation's choices; true if there is no operand."""
    row = SUBGROUP_OPERATIONS.get(operation)
    return not operand or row is None or operand in REPRESENTATIVES[family_of(row)]


@dataclass(frozen=True)
class CaseArgument:
    """The operand of a case in its program."""

    operand: OperandChoice  # the choice
    glsl: tuple[str, ...]  # the arguments in GLSL
    table: Lanes | None = None  # the words that it reads, one for each place; None if it reads none

    def of_lanes(self, place: Indices, active: Flags) -> Lanes:
        """Return the operand of each lane, (rows, size); for a partition its ballot, (rows, size, 4)."""
        operand, (rows, size) = self.operand, active.shape
        lane = np.broadcast_to(np.arange(size, dtype=np.uint32), active.shape)
        word: Lanes = lane if self.table is None else self.table[place]
        if operand.labels is not None:
            return _ballots(operand.labels(lane, word))
        if operand.literal is not None:
            return np.full(active.shape, operand.literal(size), np.uint32)
        if operand.lanes is not None:
            return operand.lanes(lane, size)
        if operand.leader:
            return np.broadcast_to(word[np.arange(rows), active.argmax(axis=1)][:, None], active.shape)
        return word


def _ballots(labels: NDArray[np.integer[Any]]) -> Lanes:
    """Return the ballot of the lanes that share a lane's label: (rows, size) → (rows, size, 4)."""
    rows, size = labels.shape
    bits = np.zeros((rows, size, 128), np.bool_)
    bits[:, :, :size] = labels[:, :, None] == labels[:, None, :]
    return np.packbits(bits, axis=2, bitorder="little").view(np.uint32)
