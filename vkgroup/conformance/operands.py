"""Choices for the second operand of an operation: ids, masks, deltas, indices and cluster sizes.

A choice is a GLSL expression and the same thing in NumPy. Constants that depend on the subgroup size
are written as literals once the size is known, because the specification asks for constant
expressions. Choices named ``beyond`` lie outside the subgroup: their results are undefined, and the
case only shows that the device survives them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[np.uint32]

CLUSTER_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Every cluster size that some subgroup size allows (KHR_shader_subgroup: a power of two, at least 1)."""


@dataclass(frozen=True)
class Operand:
    """One choice for one kind of operand.

    Attributes
    ----------
    name : the choice's part in the name of a case.
    sentence : the choice in words, to complete "with …".
    literal : subgroup size → the constant that is written into the shader, or None.
    expression : GLSL over `lane` and `size` where the operand differs between lanes, or None.
    lanes : (lane (rows, size), subgroup size) → operand of each lane, the NumPy twin of `expression`.
    table : (generator, subgroup size, workgroups, invocations) → uint32 words that the shader reads: one a
        workgroup if `uniform`, else one an invocation. None where nothing is read.
    uniform : the table has one entry a workgroup, which makes the operand dynamically uniform.
    dynamic : the operand is no constant expression.
    """

    name: str
    sentence: str
    literal: Callable[[int], int] | None = None
    expression: str | None = None
    lanes: Callable[[Lanes, int], Lanes] | None = None
    table: Callable[[np.random.Generator, int, int], Lanes] | None = None
    uniform: bool = False

    @property
    def dynamic(self) -> bool:
        """Whether the operand is no constant expression."""
        return self.literal is None


def _constant(name: str, sentence: str, value: Callable[[int], int]) -> Operand:
    return Operand(name, sentence, literal=value)


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
_UNIFORM = Operand(
    "dynamic", "a dynamically uniform value from memory", table=_ids_below(_within), uniform=True
)
_PER_LANE = Operand("data", "a value from memory that differs between lanes", table=_ids_below(_within))
_STRADDLING = Operand(
    "straddling", "values from memory, half of them beyond the subgroup", table=_ids_below(_twice)
)

_SHUFFLE_IDS = (
    _LAST,
    Operand(
        "reverse",
        "the lanes in reverse",
        expression="size - 1u - lane",
        lanes=lambda lane, size: (size - 1 - lane).astype(np.uint32),
    ),
    Operand(
        "rotate",
        "the next lane, the last wrapping around",
        expression="(lane + 1u) % size",
        lanes=lambda lane, size: ((lane + 1) % size).astype(np.uint32),
    ),
    _UNIFORM,
    _PER_LANE,
    _STRADDLING,
)

_DELTAS = (
    _constant("by1", "a distance of 1", lambda size: 1),
    _constant("by2", "a distance of 2", lambda size: 2),
    _constant("half", "a distance of half the subgroup", lambda size: size // 2),
    _constant("furthest", "the greatest distance inside the subgroup", lambda size: size - 1),
    _BEYOND,
    _UNIFORM,
    _PER_LANE,
)

_MASKS = (
    _constant("by1", "mask 1", lambda size: 1),
    _constant("by2", "mask 2", lambda size: 2),
    _constant("half", "mask half the subgroup's size", lambda size: max(size // 2, 1)),
    _BEYOND,
    Operand("dynamic", "a dynamically uniform mask from memory", table=_powers_below_size, uniform=True),
    _PER_LANE,
)

_QUAD_IDS = (
    *(_constant(f"q{i}", f"the quad's invocation {i}", _always(i)) for i in range(4)),
    _constant("beyond", "an index beyond the quad", lambda size: 4),
    Operand("dynamic", "a dynamically uniform index", table=_ids_below(lambda size: 4), uniform=True),
)

_CLUSTERS = tuple(_constant(f"c{n}", f"clusters of {n}", _always(n)) for n in CLUSTER_SIZES)

_BIT_INDICES = (
    _FIRST,
    _LAST,
    Operand("lane", "the lane's own index", expression="lane", lanes=lambda lane, size: lane),
    _PER_LANE,
    _STRADDLING,
)

CHOICES: dict[str, dict[str, Operand]] = {
    family: {operand.name: operand for operand in operands}
    for family, operands in {
        "subgroupBroadcast": (_FIRST, _MIDDLE, _LAST, _BEYOND, _UNIFORM),
        "subgroupShuffle": _SHUFFLE_IDS,
        "subgroupShuffleXor": _MASKS,
        "subgroupShuffleUp": _DELTAS,
        "subgroupShuffleDown": _DELTAS,
        "subgroupBallotBitExtract": _BIT_INDICES,
        "subgroupQuadBroadcast": _QUAD_IDS,
        "clustered": _CLUSTERS,
    }.items()
}
"""Operation (or, for all clustered reductions, ``"clustered"``) → its choices by name."""


def choices(operation: str) -> dict[str, Operand]:
    """Return the choices of an operation's second operand; empty where it has none."""
    family = "clustered" if operation.startswith("subgroupClustered") else operation
    return CHOICES.get(family, {})
