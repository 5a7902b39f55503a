"""Sets of invocations of a slice, in ascending order, and the subgroups that they form."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values.value import Data

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class LaneSet:
    """A set of invocations, each named by its index among `total`.

    Most instructions run in all invocations of a slice. The set of all has no array of indices, so arrays
    are used without a copy. Make sets by `all`, `none` and `of`.

    `total`: invocations to choose from.
    `count`: invocations in the set.
    `is_all`: whether the set has every invocation.
    """

    __slots__ = ("_indices", "count", "is_all", "total")

    def __init__(self, total: int, indices: Indices | None) -> None:
        self.total = total
        self.is_all = indices is None
        self.count = total if indices is None else len(indices)
        self._indices = indices

    @classmethod
    def all(cls, total: int) -> LaneSet:
        """Return the set of all invocations."""
        return cls(total, None)

    @classmethod
    def none(cls, total: int) -> LaneSet:
        """Return the empty set."""
        return cls(total, np.zeros(0, np.int64))

    @classmethod
    def of(cls, indices: Indices, total: int) -> LaneSet:
        """Return the set of the invocations with these indices, which are distinct and ascending."""
        return cls(total, None if len(indices) == total else indices)

    @property
    def indices(self) -> Indices:
        """The indices of the invocations, ascending, (count,)."""
        if self._indices is None:
            self._indices = np.arange(self.total)
        return self._indices

    @property
    def selector(self) -> Any:
        """The index of the invocations on an axis of length `total`: a full slice, or the indices."""
        return slice(None) if self.is_all else self._indices

    def where(self, flags: Flags) -> LaneSet:
        """Return those invocations of this set whose flag, (count,), is true."""
        chosen = np.flatnonzero(flags) if self.is_all else self.indices[flags]
        return LaneSet.of(chosen, self.total)

    def without(self, other: LaneSet) -> LaneSet:
        """Return the invocations of this set that are not in its subset `other`."""
        if other.is_all:
            return LaneSet.none(self.total)
        remaining = np.setdiff1d(self.indices, other.indices, assume_unique=True)
        return LaneSet.of(remaining, self.total)

    @classmethod
    def union(cls, sets: Iterable[LaneSet]) -> LaneSet:
        """Return the union of disjoint sets, at least one."""
        first, *others = sets
        if not others:
            return first
        indices = np.sort(
            np.concatenate([first.indices, *(other.indices for other in others)]), kind="stable"
        )
        return cls.of(indices, first.total)

    def __bool__(self) -> bool:
        return self.count > 0

    def __repr__(self) -> str:
        return f"LaneSet({self.count} of {self.total})"


class Subgroups:
    """Rows of lanes: the subgroups with at least one active invocation.

    `size`: lanes of a subgroup.
    `row`, `lane`: subgroup and lane of each active invocation, (n,), in ascending order; subgroups may be any
    numbers.
    `optional`: (n,), flags of helper invocations, which a device may leave out of group operations; None
    for none.

    Attributes: `active`: (rows, size) bool, the active lanes.
    `optional`: (rows, size) bool, the active lanes that a device may leave out; None for none.
    """

    def __init__(
        self,
        size: int,
        row: npt.NDArray[np.int64],
        lane: npt.NDArray[np.int64],
        optional: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self.size = size
        self.count = len(row)
        if self.count == 0:
            changes = np.zeros(0, np.bool_)
        else:
            changes = np.empty(self.count, np.bool_)
            changes[0] = False
            np.not_equal(row[1:], row[:-1], out=changes[1:])
        self._row = np.cumsum(changes)
        self.rows = int(self._row[-1]) + 1 if self.count else 0
        self._position = self._row * size + lane
        self._full = self.rows * size == self.count and bool(
            (lane[:size] == np.arange(min(size, self.count))).all()
        )
        if self._full and self.count:
            self._full = bool((self._position == np.arange(self.count)).all())
        self.active = np.zeros((self.rows, size), np.bool_)
        self.active.reshape(-1)[self._position] = True
        self.optional: npt.NDArray[np.bool_] | None = None
        if optional is not None:
            self.optional = np.zeros((self.rows, size), np.bool_)
            self.optional.reshape(-1)[self._position] = optional

    def part(self, keep: npt.NDArray[np.bool_]) -> Subgroups:
        """Return the subgroups of some of the active invocations, by flags (n,), with no optional lanes."""
        position = self._position[keep]
        return Subgroups(self.size, position // self.size, position % self.size)

    def spread(self, data: Data) -> npt.NDArray[Any]:
        """Return (dims..., n) or (dims..., 1) as (rows, size, components), with zeros in inactive lanes."""
        components = math.prod(data.shape[:-1])
        flat = data.reshape(components, data.shape[-1])
        if data.shape[-1] == 1 and self.count != 1:
            result = np.zeros((self.rows, self.size, components), data.dtype)
            result[self.active] = flat[:, 0]
            return result
        if self._full:
            return flat.reshape(components, self.rows, self.size).transpose(1, 2, 0)
        result = np.zeros((self.rows * self.size, components), data.dtype)
        result[self._position] = flat.T
        return result.reshape(self.rows, self.size, components)

    def collect(self, rows: npt.NDArray[Any], dims: tuple[int, ...]) -> Data:
        """Return the active lanes of (rows, size, components) as (dims..., n)."""
        components = math.prod(dims)
        flat = rows.reshape(self.rows * self.size, components)
        if not self._full:
            flat = flat[self._position]
        return np.ascontiguousarray(flat.T).reshape(*dims, self.count)
