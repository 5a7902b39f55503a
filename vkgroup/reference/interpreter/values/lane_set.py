"""The active set: some of the invocations that advance together, in ascending order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class LaneSet:
    """A set of invocations, each named by its index among `total`.

    Most instructions run in all invocations of a slice. That case has no array of indices, so that arrays
    are used whole and without a copy. Make sets by `all`, `none` and `of`.

    Attributes
    ----------
    total : invocations to choose from.
    count : invocations in the set.
    is_all : whether the set has every invocation.
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
        """What chooses the invocations on an axis of length `total`: all of it, or the indices."""
        return slice(None) if self.is_all else self._indices

    def where(self, flags: Flags) -> LaneSet:
        """Return those invocations of this set whose flag, (count,), is true."""
        chosen = np.flatnonzero(flags) if self.is_all else self.indices[flags]
        return LaneSet.of(chosen, self.total)

    def without(self, other: LaneSet) -> LaneSet:
        """Return the invocations of this set that are not in `other`, a part of it."""
        if other.is_all:
            return LaneSet.none(self.total)
        remaining = np.setdiff1d(self.indices, other.indices, assume_unique=True)
        return LaneSet.of(remaining, self.total)

    @classmethod
    def union(cls, sets: Iterable[LaneSet]) -> LaneSet:
        """Return the invocations of all of some sets, at least one, that have none in common."""
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
