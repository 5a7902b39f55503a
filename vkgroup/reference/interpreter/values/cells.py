"""Cells: variables of each invocation, and values that outlive the segment that computed them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values.lane_set import LaneSet
from vkgroup.reference.interpreter.values.value import Causes, Data, Leaf, Value, select, spread, take

ElementIndices = tuple[int | npt.NDArray[np.int64], ...]
"""Indices into the dims of a leaf: uniform numbers, or arrays (n,)."""


class Cell:
    """One value for each invocation of a slice, written in parts.

    An array may be shared with other values. It is copied before the first write to a part of it.

    `leaves`: types and dims of its arrays.
    `count`: invocations of the slice.
    """

    __slots__ = ("_causes", "_count", "_data", "_layout", "_owned", "_owned_causes")

    def __init__(self, leaves: tuple[Leaf, ...], count: int) -> None:
        self._layout = leaves
        self._count = count
        self._data: list[Data] = [np.zeros((*leaf.dims, 1), leaf.scalar.dtype) for leaf in leaves]
        self._causes: list[Causes | None] = [None] * len(leaves)
        self._owned = [False] * len(leaves)
        self._owned_causes = [False] * len(leaves)

    # --- whole values ---------------------------------------------------------------------------------

    def read(self, lanes: LaneSet) -> Value:
        """Return the whole value in some invocations."""
        whole = Value(tuple(self._data), tuple(self._causes))
        if lanes.is_all:
            self._owned = [False] * len(self._owned)
            self._owned_causes = [False] * len(self._owned)
            return whole
        return select(whole, lanes.indices)

    def write(self, value: Value, lanes: LaneSet) -> None:
        """Replace the whole value in some invocations."""
        if lanes.is_all:
            self._data = list(value.leaves)
            self._causes = list(value.causes)
            self._owned = [False] * len(self._owned)
            self._owned_causes = [False] * len(self._owned)
            return
        selection = (Ellipsis, lanes.indices)
        for number, (data, cause) in enumerate(zip(value.leaves, value.causes, strict=True)):
            self._own(number)[selection] = data
            self._write_cause(number, (), selection, cause)

    # --- parts ----------------------------------------------------------------------------------------

    def read_part(self, leaves: slice, indices: ElementIndices, lanes: LaneSet) -> Value:
        """Return the elements at `indices` of some leaves, in some invocations."""
        if not indices:
            whole = self.read(lanes)
            return Value(whole.leaves[leaves], whole.causes[leaves])
        varying = any(not isinstance(index, int) for index in indices)
        choose = _choose_varying if varying else _choose_uniform
        parts, causes = [], []
        for number in range(*leaves.indices(len(self._data))):
            data, cause = self._data[number], self._causes[number]
            if lanes.is_all and not varying:
                self._owned[number] = self._owned_causes[number] = False
            parts.append(choose(data, indices, lanes))
            causes.append(None if cause is None else choose(spread(cause, data.shape[:-1]), indices, lanes))
        return Value(tuple(parts), tuple(causes))

    def write_part(self, leaves: slice, indices: ElementIndices, value: Value, lanes: LaneSet) -> None:
        """Replace the elements at `indices` of some leaves, in some invocations."""
        numbers = range(*leaves.indices(len(self._data)))
        if not indices and lanes.is_all:
            for number, data, cause in zip(numbers, value.leaves, value.causes, strict=True):
                self._data[number], self._causes[number] = data, cause
                self._owned[number] = self._owned_causes[number] = False
            return
        varying = any(not isinstance(index, int) for index in indices)
        for number, data, cause in zip(numbers, value.leaves, value.causes, strict=True):
            if varying:
                selection, lanes_first = _varying_selection(self._layout[number], indices, lanes)
                self._own(number)[selection] = np.moveaxis(data, -1, 0) if lanes_first else data
                part: tuple[int, ...] = ()
                if cause is not None and lanes_first:
                    cause = np.moveaxis(spread(cause, data.shape[:-1]), -1, 0)
            else:
                # Index the part first, as a view: one combined index would move the invocations to the front.
                part = tuple(index for index in indices if isinstance(index, int))
                selection = (Ellipsis, lanes.selector)
                self._own(number)[part][selection] = data
            self._write_cause(number, part, selection, cause)

    def _own(self, number: int) -> Data:
        """Return a leaf's array, unshared and with an entry for each invocation."""
        data = self._data[number]
        if not self._owned[number]:
            shape = (*self._layout[number].dims, self._count)
            data = self._data[number] = np.array(np.broadcast_to(data, shape))
            self._owned[number] = True
        return data

    def _write_cause(self, number: int, part: tuple[int, ...], selection: Any, cause: Causes | None) -> None:
        present = self._causes[number]
        if present is None and (cause is None or not cause.any()):
            return
        if not self._owned_causes[number]:
            shape = (*self._layout[number].dims, self._count)
            full = np.zeros(shape, np.uint16) if present is None else np.broadcast_to(present, shape)
            present = self._causes[number] = np.array(full)
            self._owned_causes[number] = True
        assert present is not None
        present[part][selection] = 0 if cause is None else cause
        if cause is None and not present.any():
            self._causes[number] = None
            self._owned_causes[number] = False


def _choose_uniform(array: Data, indices: ElementIndices, lanes: LaneSet) -> Data:
    """Return the part at uniform indices."""
    part = array[indices]
    return part if lanes.is_all else take(part, lanes.indices)


def _choose_varying(array: Data, indices: ElementIndices, lanes: LaneSet) -> Data:
    """Return the part at indices that may vary between invocations."""
    invocations: Any = 0 if array.shape[-1] == 1 else lanes.indices
    rest = array.ndim - 1 - len(indices)
    part = array[(*indices, *(slice(None),) * rest, invocations)]
    # With index arrays on both sides of a slice, NumPy puts the invocations first.
    return np.moveaxis(part, 0, -1) if rest else part


def _varying_selection(leaf: Leaf, indices: ElementIndices, lanes: LaneSet) -> tuple[Any, bool]:
    """Return the NumPy index for a write at varying indices, and whether invocations are its first axis."""
    rest = len(leaf.dims) - len(indices)
    return (*indices, *(slice(None),) * rest, lanes.indices), rest > 0
