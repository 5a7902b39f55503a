"""Values of SPIR-V ids in many invocations at once, with numbered causes of undefined numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.reference.dtypes import ENCODINGS
from vkgroup.reference.events import EventCause
from vkgroup.spirv import (
    ArrayType,
    CooperativeMatrixType,
    ImageType,
    MatrixType,
    OpaqueType,
    PointerType,
    SampledImageType,
    ScalarType,
    StructType,
    Type,
    VectorType,
)

Data = npt.NDArray[Any]
Causes = npt.NDArray[np.uint16]

Chosen = npt.NDArray[np.int64] | npt.NDArray[np.bool_]
"""Some of the invocations: their indices, or a flag for each."""

HARD = 0x8000
"""The first hard cause: the value is undefined. Smaller causes: the value depends on the order of atomics."""

ADDRESS = ScalarType("uint", 64)
"""The type of the numbers that hold pointers to physical storage."""

_OFFSET = ScalarType("int", 64)
"""The type of the numbers that hold other pointers: that of a memory, and bytes from its start."""

RESOURCE = ScalarType("int", 32)
"""The type of the numbers that stand for images and samplers."""


def held(kind: ScalarType) -> ScalarType:
    """Return the NumPy type that holds a scalar; an encoding that NumPy lacks is held as its bits."""
    return ScalarType("uint", kind.bits) if kind.kind in ENCODINGS else kind


class Leaf(NamedTuple):
    """One array of a value: numbers of one type."""

    scalar: ScalarType  # their type
    dims: tuple[int, ...]  # the array's shape without its last axis, which counts invocations


class Value:
    """The value of an id in some invocations.

    A scalar, vector, matrix, or array of these is one array. Its last axis counts invocations, or has length
    one if the value is uniform. A structure is the list of the arrays of its members. See `leaves_of`.

    `leaves`: the arrays; they are never changed.
    `causes`: for each leaf None where all is defined, else an array that broadcasts to the leaf: 0 where it
    is defined, else the number of the cause.
    """

    __slots__ = ("causes", "leaves")

    def __init__(self, leaves: tuple[Data, ...], causes: tuple[Causes | None, ...] | None = None) -> None:
        self.leaves = leaves
        self.causes = causes if causes is not None else (None,) * len(leaves)

    @property
    def data(self) -> Data:
        """The only array of a scalar, vector or matrix."""
        return self.leaves[0]

    @property
    def cause(self) -> Causes | None:
        """The causes of `data`."""
        return self.causes[0]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in self.leaves)
        return f"Value({shapes})"


def single(data: Data, cause: Causes | None = None) -> Value:
    """Make the value of a scalar, vector or matrix."""
    return Value((data,), (cause,))


def combine(*causes: Causes | None) -> Causes | None:
    """Return the largest cause of each element; None where all arguments are None. Shapes broadcast."""
    present = [cause for cause in causes if cause is not None]
    if not present:
        return None
    result = present[0]
    for cause in present[1:]:
        result = np.maximum(result, cause)
    return result


_NOTHING = np.zeros(1, np.uint16)


def filled(cause: Causes | None) -> Causes:
    """Return causes as an array; zero if all is defined."""
    return _NOTHING if cause is None else cause


def marked(where: npt.NDArray[np.bool_], cause: int) -> Causes:
    """Return a cause where flags are true, and 0 elsewhere."""
    return np.where(where, cause, 0).astype(np.uint16)


def spread(cause: Causes, dims: tuple[int, ...]) -> Causes:
    """Return the cause of a leaf in the leaf's own dimensions, for indexing its components."""
    if cause.ndim == len(dims) + 1 and cause.shape[:-1] == dims:
        return cause
    return np.broadcast_to(cause, (*dims, cause.shape[-1]))


def reduce_cause(cause: Causes | None, axes: int = 1) -> Causes | None:
    """Return the largest cause over the first `axes` axes, for a result that needs every component."""
    if cause is None or cause.ndim <= axes:
        return cause
    return np.asarray(cause.max(axis=tuple(range(axes))))


def overall_cause(value: Value) -> Causes | None:
    """Return the largest cause of all numbers in a value, for each invocation: (n,) or (1,)."""
    return combine(
        *(reduce_cause(cause, cause.ndim - 1) if cause is not None else None for cause in value.causes)
    )


@lru_cache(maxsize=4096)
def leaves_of(kind: Type) -> tuple[Leaf, ...]:
    """Return the arrays that a value of this type consists of.

    Raises `TypeError` for types without values: runtime arrays, void.
    """
    if isinstance(kind, ScalarType):
        return (Leaf(held(kind), ()),)
    if isinstance(kind, VectorType):
        return (Leaf(held(kind.component), (kind.count,)),)
    if isinstance(kind, CooperativeMatrixType):
        # The number that one invocation holds in a subgroup of size one; larger subgroups leave the last ones
        # zero.
        return (Leaf(held(kind.component), (kind.rows * kind.columns,)),)
    if isinstance(kind, MatrixType):
        return (Leaf(kind.column.component, (kind.columns, kind.column.count)),)
    if isinstance(kind, ArrayType) and kind.length is not None:
        return tuple(Leaf(leaf.scalar, (kind.length, *leaf.dims)) for leaf in leaves_of(kind.element))
    if isinstance(kind, StructType):
        return tuple(leaf for member in kind.members for leaf in leaves_of(member.type))
    if isinstance(kind, PointerType):
        is_address = kind.storage_class == "PhysicalStorageBuffer"
        return (Leaf(ADDRESS, ()),) if is_address else (Leaf(_OFFSET, ()), Leaf(_OFFSET, ()))
    if isinstance(kind, SampledImageType):
        return (Leaf(RESOURCE, (2,)),)
    if isinstance(kind, ImageType) or (isinstance(kind, OpaqueType) and kind.name == "sampler"):
        return (Leaf(RESOURCE, ()),)
    if isinstance(kind, OpaqueType):
        raise Unsupported(f"The reference device does not support {kind.name}.", [f"values of {kind.name}"])
    raise TypeError(f"{kind} has no value")


def leaf_of(data: Data) -> Leaf:
    """Return the leaf that an array of a value belongs to."""
    kind = {"f": "float", "i": "int", "u": "uint", "b": "bool"}[data.dtype.kind]
    bits = 1 if kind == "bool" else data.dtype.itemsize * 8
    return Leaf(ScalarType(kind, bits), data.shape[:-1])


def member_leaves(kind: StructType, index: int) -> slice:
    """Return the indices of the leaves of a structure's member."""
    first = sum(len(leaves_of(member.type)) for member in kind.members[:index])
    return slice(first, first + len(leaves_of(kind.members[index].type)))


def zeros(kind: Type, n: int = 1) -> Value:
    """Return a value of zero bits, in `n` invocations."""
    return Value(tuple(np.zeros((*leaf.dims, n), leaf.scalar.dtype) for leaf in leaves_of(kind)))


def undefined(kind: Type, cause: int, n: int = 1) -> Value:
    """Return a value of zeros that is undefined everywhere."""
    leaves = zeros(kind, n).leaves
    return Value(leaves, tuple(np.full(leaf.shape, cause, np.uint16) for leaf in leaves))


def take(array: Data, index: Chosen) -> Data:
    """Return an array in some invocations: the last axis indexed by `index`, unless it has length one."""
    return array if array.shape[-1] == 1 else array[..., index]


def select(value: Value, index: Chosen) -> Value:
    """Return a value in some invocations."""
    return Value(
        tuple(take(leaf, index) for leaf in value.leaves),
        tuple(None if cause is None else take(cause, index) for cause in value.causes),
    )


def joined(parts: Sequence[tuple[Any, Value]], count: int) -> Value:
    """Combine values of parts of the invocations into one value of `count` invocations."""
    leaves: list[Data] = []
    causes: list[Causes | None] = []
    for number, first in enumerate(parts[0][1].leaves):
        leaf = np.zeros((*first.shape[:-1], count), first.dtype)
        cause: Causes | None = None
        for chosen, value in parts:
            leaf[..., chosen] = value.leaves[number]
            own = value.causes[number]
            if own is not None:
                cause = np.zeros(leaf.shape, np.uint16) if cause is None else cause
                cause[..., chosen] = own
        leaves.append(leaf)
        causes.append(cause)
    return Value(tuple(leaves), tuple(causes))


def tainted(value: Value, cause: Causes) -> Value:
    """Return a value with a cause, (n,) or (1,), added to all of its numbers."""
    if not cause.any():
        return value
    return Value(
        value.leaves,
        tuple(
            combine(np.broadcast_to(cause, np.broadcast_shapes(data.shape, cause.shape)), own)
            for data, own in zip(value.leaves, value.causes, strict=True)
        ),
    )


BEFORE_SOFT, BEFORE_HARD = 1, HARD
"""Causes of values that an earlier dispatch left in memory."""


class CauseTable:
    """The numbers of causes, as in the arrays of `Value.causes`.

    Numbers from `HARD` on mean that a value is undefined. Smaller numbers mean that it depends on the order
    of invocations.
    """

    def __init__(self) -> None:
        self._records: dict[int, EventCause] = {
            BEFORE_SOFT: EventCause(
                "order", "an earlier dispatch made it depend on the order of atomics", -1
            ),
            BEFORE_HARD: EventCause("before", "it was undefined before this dispatch", -1),
        }
        self._numbers: dict[EventCause, int] = {}
        self._next = {False: BEFORE_SOFT + 1, True: BEFORE_HARD + 1}

    def number(self, cause: EventCause, *, hard: bool = True) -> int:
        """Return the number of a cause; when no number is left, further causes share the last one."""
        if cause not in self._numbers:
            number = self._next[hard]
            if number not in (HARD - 1, 2 * HARD - 1):
                self._next[hard] += 1
            self._numbers[cause] = number
            self._records.setdefault(number, cause)
        return self._numbers[cause]

    def __getitem__(self, number: int) -> EventCause:
        return self._records[number]
