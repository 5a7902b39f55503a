"""Operands after the value: choices of ids, masks, deltas, indices, cluster sizes and partitions.

A choice is a GLSL expression and its NumPy equivalent. Constants that depend on the subgroup size
are written as literals once the size is known, because the specification requires constant
expressions. Choices named ``beyond`` lie outside the subgroup: their results are undefined (except for
rotations, which wrap around), and the case only tests that the device does not crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.arrays import Flags, Indices
from vkgroup.conformance.instances import pack
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import SUBGROUP_SIZES
from vkgroup.spec.operations import SUBGROUP_OPERATIONS, Operation

Lanes = NDArray[np.uint32]
Size = Callable[[int], int]
"""Subgroup size → a number."""


@dataclass(frozen=True)
class OperandChoice:
    """A choice for one kind of operand."""

    name: str  # the choice's part in the name of a case
    sentence: str  # a phrase for the choice, to complete "with …"
    literal: Size | None = None  # the constant that is written into the shader, or None
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
    labels: Callable[[Lanes, Lanes], NDArray[Any]] | None = None
    narrow: bool = False  # combined with few patterns only; see `vkgroup.conformance.subgroup.cases`


def _specialized(what: str, literal: Size) -> OperandChoice:
    sentence = f"{what}, a specialization constant"
    return OperandChoice("specialized", sentence, literal, specialized=True, narrow=True)


def _table(name: str, sentence: str, limit: Size, **options: Any) -> OperandChoice:
    """Return a choice of random numbers below a limit."""

    def table(generator: np.random.Generator, size: int, count: int) -> Lanes:
        return generator.integers(0, limit(size), count, dtype=np.uint32)

    return OperandChoice(name, sentence, table=table, **options)


def _uniform(what: str, limit: Size) -> OperandChoice:
    return _table("dynamic", f"a dynamically uniform {what}", limit, uniform=True)


def _leader(what: str, limit: Size) -> OperandChoice:
    return _table("leader", f"{what} that the first active lane chose", limit, leader=True, narrow=True)


def _powers_below_size(generator: np.random.Generator, size: int, count: int) -> Lanes:
    exponents = generator.integers(0, max(size.bit_length() - 1, 1), count, dtype=np.uint32)
    return np.left_shift(np.uint32(1), exponents, dtype=np.uint32)


def _labels(generator: np.random.Generator, size: int, count: int) -> Lanes:
    """Return numbers below 64, 8, 3 and 2, one limit per workgroup."""
    limits = np.repeat(np.array([64, 8, 3, 2], np.uint32), count // 4)
    return np.asarray(generator.integers(0, limits, dtype=np.uint32))


def _always(value: int) -> Size:
    return lambda size: value


def _times(factor: int) -> Size:
    return lambda size: factor * size


def _greatest(size: int) -> int:
    return size - 1


_FIRST = OperandChoice("first", "lane 0", _always(0))
_LAST = OperandChoice("last", "the subgroup's last lane", _greatest)
_BEYOND = OperandChoice("beyond", "a number no smaller than the subgroup's size", _times(1))
_BY1 = OperandChoice("by1", "a distance of 1", _always(1))
_BY2 = OperandChoice("by2", "a distance of 2", _always(2))
_HALF = OperandChoice("half", "a distance of half the subgroup", lambda size: size // 2)
_UNIFORM = _uniform("value from memory", _times(1))
_PER_LANE = _table("data", "a value from memory that differs between lanes", _times(1))
_STRADDLING = _table("straddling", "values from memory, half of them beyond the subgroup", _times(2))
_ID_FROM_LEADER = _leader("a lane", _times(1))
_ID_SPECIALIZED = _specialized("the last lane", _greatest)
_ONE_SPECIALIZED = _specialized("1", _always(1))
_FOUR = _always(4)

# A rotation's distance wraps around (KHR_shader_subgroup_rotate: "the remainder of the division"), and so
# does the sum of lane and distance ("the low-order 32 bits"). It must be dynamically uniform.
_ROTATIONS = (
    replace(_BY1, narrow=True),
    _BY2,
    OperandChoice("by5", "a distance of 5", _always(5), narrow=True),
    replace(_HALF, narrow=True),
    OperandChoice("furthest", "a distance of all but one lanes", _greatest, narrow=True),
    OperandChoice("beyond", "a distance of the whole subgroup and 3", lambda size: size + 3, narrow=True),
    OperandChoice("largest", "a distance of 2^32 - 1", _always(2**32 - 1), narrow=True),
    _uniform("distance from memory", _times(2)),
    _ONE_SPECIALIZED,
    _leader("a distance", _times(2)),
)


def _clustered_rotations() -> Iterator[OperandChoice]:
    """Yield two rotations in clusters of every size, and every rotation in clusters of four."""
    for rotation in _ROTATIONS:
        for n in SUBGROUP_SIZES if rotation.name in ("by1", "dynamic") else (4,):
            name, sentence = f"{rotation.name}_c{n}", f"{rotation.sentence} in clusters of {n}"
            yield replace(rotation, name=name, sentence=sentence, cluster=n, narrow=rotation.narrow or n != 4)


# Ballots that are valid partitions (NV_shader_subgroup_partitioned, section 3.8): each active lane's has its
# own bit, and equals that of every active lane whose bit it has. Bits of inactive lanes are ignored.
_partition = partial(OperandChoice, narrow=True)
_PARTITIONS = (
    OperandChoice(
        "equal", "the subgroupPartitionNV of numbers from memory",
        expression="subgroupPartitionNV({word})", labels=lambda lane, word: word, table=_labels,
    ),
    _partition(
        "voted", "the ballots of four choices from memory",
        expression="ballot_of_equals({word} & 3u)", labels=lambda lane, word: word & 3, table=_labels,
    ),
    _partition(
        "strided", "every fourth active lane a subset",
        expression="(mask & uvec4(0x11111111u << (lane & 3u)))", labels=lambda lane, word: lane & 3,
    ),
    _partition(
        "blocks", "four neighbours a subset, active or not",
        expression="ballot_of_block(lane)", labels=lambda lane, word: lane >> 2,
    ),
    _partition("alone", "each lane a subset", expression="gl_SubgroupEqMask", labels=lambda lane, word: lane),
    _partition("active", "all active lanes a subset", expression="mask", labels=lambda lane, word: lane & 0),
    _partition(
        "ones", "ballots of nothing but ones",
        expression="uvec4(0xffffffffu)", labels=lambda lane, word: lane & 0,
    ),
)  # fmt: skip

PARTITION_FUNCTIONS = """uvec4 ballot_of_equals(uint choice) {
    uvec4 found = uvec4(0u);
    for (uint one = 0u; one < 4u; ++one) {
        uvec4 same = subgroupBallot(choice == one);
        found = mix(found, same, bvec4(choice == one));
    }
    return found;
}
uvec4 ballot_of_block(uint lane) {
    uvec4 found = uvec4(0u);
    found[lane >> 5u] = 0xfu << (lane & 28u);
    return found;
}"""
"""GLSL functions that the expressions of partitions call."""

_BY_KIND: dict[str, Iterable[OperandChoice]] = {
    "uniform id": (
        _FIRST, replace(_HALF, name="middle", sentence="the lane in the middle"), _LAST, _BEYOND, _UNIFORM,
        _ID_SPECIALIZED, _ID_FROM_LEADER,
    ),
    "id": (
        _LAST,
        OperandChoice(
            "reverse", "the lanes in reverse", expression="size - 1u - lane",
            lanes=lambda lane, size: (size - 1 - lane).astype(np.uint32),
        ),
        OperandChoice(
            "rotate", "the next lane, the last wrapping around", expression="(lane + 1u) % size",
            lanes=lambda lane, size: ((lane + 1) % size).astype(np.uint32),
        ),
        _UNIFORM, _PER_LANE, _STRADDLING, _ID_SPECIALIZED, _ID_FROM_LEADER,
    ),
    "mask": (
        replace(_BY1, sentence="mask 1"), replace(_BY2, sentence="mask 2"),
        OperandChoice("half", "mask half the subgroup's size", lambda size: max(size // 2, 1)), _BEYOND,
        replace(_uniform("mask from memory", _times(1)), table=_powers_below_size), _PER_LANE,
        _ONE_SPECIALIZED, _leader("a mask", _times(1)),
    ),
    "delta": (
        _BY1, _BY2, _HALF,
        OperandChoice("furthest", "the greatest distance inside the subgroup", _greatest), _BEYOND,
        _UNIFORM, _PER_LANE, _ONE_SPECIALIZED, _leader("a distance", _times(1)),
    ),
    "index": (
        _FIRST, _LAST,
        OperandChoice("lane", "the lane's own index", expression="lane", lanes=lambda lane, size: lane),
        _PER_LANE, _STRADDLING,
    ),
    "quad id": (
        *(OperandChoice(f"q{i}", f"the quad's invocation {i}", _always(i)) for i in range(4)),
        OperandChoice("beyond", "an index beyond the quad", _FOUR), _uniform("index", _FOUR),
        _specialized("the quad's invocation 2", _always(2)), _leader("an index", _FOUR),
    ),
    "uniform delta": _ROTATIONS,
    "uniform delta, cluster_size": _clustered_rotations(),
    "cluster_size": (
        OperandChoice(f"c{n}", f"clusters of {n}", _always(n), cluster=n) for n in SUBGROUP_SIZES
    ),
    "ballot": _PARTITIONS,
}  # fmt: skip

CHOICES = {kind: {choice.name: choice for choice in row} for kind, row in _BY_KIND.items()}
"""Choices by name, by kind of the operands (see `_kind_of`)."""

_REPRESENTATIVES = {
    "uniform id": "last dynamic", "id": "data", "mask": "by1 dynamic data", "delta": "by1 dynamic data",
    "index": "data", "quad id": "q2 dynamic", "uniform delta": "by2 dynamic",
    "uniform delta, cluster_size": "by2_c4 dynamic_c4", "cluster_size": "c4", "ballot": "equal",
}  # fmt: skip
"""By kind: one choice of each sort, for axes that are not combined with all choices."""


def _kind_of(operation: Operation) -> str:
    """Return the kind of an operation's operands after the first, ``"uniform id"``; "" without any."""
    quad = operation.category is Category.QUAD
    kinds = ((operand.uniform, operand.kind.value) for operand in operation.operands[1:])
    return ", ".join(f"quad {kind}" if quad else "uniform " * uniform + kind for uniform, kind in kinds)


@cache
def choices(operation: str) -> dict[str, OperandChoice]:
    """Return the choices of an operation's other operands; empty if it has none."""
    row = SUBGROUP_OPERATIONS.get(operation)
    return {} if row is None else CHOICES.get(_kind_of(row), {})


@cache
def represents(operation: str, operand: str) -> bool:
    """Return whether a choice is a representative of an operation's choices; true if there is no operand."""
    row = SUBGROUP_OPERATIONS.get(operation)
    return not operand or row is None or operand in _REPRESENTATIVES[_kind_of(row)].split()


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
            labels = operand.labels(lane, word)
            return pack((labels[:, :, None] == labels[:, None, :]).reshape(-1, size)).reshape(rows, size, 4)
        if operand.literal is not None:
            return np.full(active.shape, operand.literal(size), np.uint32)
        if operand.lanes is not None:
            return operand.lanes(lane, size)
        if operand.leader:
            return np.broadcast_to(word[np.arange(rows), active.argmax(axis=1)][:, None], active.shape)
        return word
