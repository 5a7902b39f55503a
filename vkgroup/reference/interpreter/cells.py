"""Variables that each invocation has for itself, and values that outlive the block that made them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values import Causes, Data, Leaf, Value, select, take

Index = npt.NDArray[np.int64] | None
"""The active invocations in ascending order; None for all of the slice."""

Steps = tuple[int | npt.NDArray[np.int64], ...]
"""Where in the dims of a leaf: numbers that are the same in all invocations, or (n,) arrays."""


class Cell:
    """One value for each invocation of a slice, written in parts.

    Arrays that came from a value may be somebody else's too: they are copied before the first part of
    them is overwritten.

    Parameters
    ----------
    leaves : types and dims of its arrays.
    count : invocations of the slice.
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

    def read(self, index: Index) -> Value:
        """Return the whole value in the active invocations."""
        if index is None:
            self._owned = [False] * len(self._owned)
            self._owned_causes = [False] * len(self._owned)
            return Value(tuple(self._data), tuple(self._causes))
        return select(Value(tuple(self._data), tuple(self._causes)), index)

    def write(self, value: Value, index: Index) -> None:
        """Replace the whole value in the active invocations."""
        if index is None:
            self._data = list(value.leaves)
            self._causes = list(value.causes)
            self._owned = [False] * len(self._owned)
            self._owned_causes = [False] * len(self._owned)
            return
        for number, (data, cause) in enumerate(zip(value.leaves, value.causes, strict=True)):
            self._own(number)[..., index] = data
            self._write_cause(number, (), (Ellipsis, index), cause)

    # --- parts ----------------------------------------------------------------------------------------

    def read_part(self, leaves: slice, steps: Steps, index: Index) -> Value:
        """Return what `steps` choose of some leaves, in the active invocations."""
        if not steps:
            whole = self.read(index)
            return Value(whole.leaves[leaves], whole.causes[leaves])
        dynamic = any(not isinstance(step, int) for step in steps)
        found, causes = [], []
        for number in range(*leaves.indices(len(self._data))):
            data, cause = self._data[number], self._causes[number]
            if not dynamic:
                if index is None:
                    self._owned[number] = self._owned_causes[number] = False
                found.append(_part(data, steps, index))
                causes.append(None if cause is None else _part(_in_full(cause, data), steps, index))
            else:
                found.append(_pick(data, steps, index, self._count))
                causes.append(
                    None if cause is None else _pick(_in_full(cause, data), steps, index, self._count)
                )
        return Value(tuple(found), tuple(causes))

    def write_part(
        self,
        leaves: slice,
        steps: Steps,
        value: Value,
        index: Index,
        where: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Replace what `steps` choose of some leaves, in the active invocations that `where` names."""
        if where is not None:
            index = np.flatnonzero(where) if index is None else index[where]
            steps = tuple(step if isinstance(step, int) else take(step, where) for step in steps)
            value = select(value, where)
        numbers = range(*leaves.indices(len(self._data)))
        if not steps and index is None:
            for number, data, cause in zip(numbers, value.leaves, value.causes, strict=True):
                self._data[number], self._causes[number] = data, cause
                self._owned[number] = self._owned_causes[number] = False
            return
        dynamic = any(not isinstance(step, int) for step in steps)
        for number, data, cause in zip(numbers, value.leaves, value.causes, strict=True):
            if dynamic:
                place, turned = _dynamic_place(self._layout[number], steps, index, self._count)
                self._own(number)[place] = np.moveaxis(data, -1, 0) if turned else data
                part: tuple[int, ...] = ()
                if cause is not None and turned:
                    cause = np.moveaxis(_in_full(cause, data), -1, 0)
            else:
                # First the part, which is a view: NumPy would move the invocations to the front.
                part = tuple(step for step in steps if isinstance(step, int))
                place = (Ellipsis, slice(None) if index is None else index)
                self._own(number)[part][place] = data
            self._write_cause(number, part, place, cause)

    def _own(self, number: int) -> Data:
        """Return a leaf's array, for all invocations and nobody else's."""
        data = self._data[number]
        if not self._owned[number]:
            shape = (*self._layout[number].dims, self._count)
            data = self._data[number] = np.array(np.broadcast_to(data, shape))
            self._owned[number] = True
        return data

    def _write_cause(self, number: int, part: tuple[int, ...], place: Any, cause: Causes | None) -> None:
        present = self._causes[number]
        if present is None and (cause is None or not cause.any()):
            return
        if not self._owned_causes[number]:
            shape = (*self._layout[number].dims, self._count)
            full = np.zeros(shape, np.uint16) if present is None else np.broadcast_to(present, shape)
            present = self._causes[number] = np.array(full)
            self._owned_causes[number] = True
        assert present is not None
        present[part][place] = 0 if cause is None else cause
        if cause is None and not present.any():
            self._causes[number] = None
            self._owned_causes[number] = False


def _in_full(cause: Causes, data: Data) -> Causes:
    """Give causes the dims of their leaf, so that steps into it find them."""
    return (
        cause
        if cause.ndim == data.ndim and cause.shape[:-1] == data.shape[:-1]
        else np.broadcast_to(cause, (*data.shape[:-1], cause.shape[-1]))
    )


def _part(array: Data, steps: Steps, index: Index) -> Data:
    part = array[steps]
    return part if index is None else take(part, index)


def _pick(array: Data, steps: Steps, index: Index, count: int) -> Data:
    """Choose by numbers that vary between invocations."""
    lanes: Any = np.arange(count) if index is None else index
    if array.shape[-1] == 1:
        lanes = 0
    rest = array.ndim - 1 - len(steps)
    found = array[(*steps, *(slice(None),) * rest, lanes)]
    if rest:
        # Indices on both sides of a slice put the invocations first.
        found = np.moveaxis(found, 0, -1)
    return found


def _dynamic_place(leaf: Leaf, steps: Steps, index: Index, count: int) -> tuple[Any, bool]:
    """Return the index of a write by varying numbers, and whether the invocations come first in it."""
    lanes = np.arange(count) if index is None else index
    rest = len(leaf.dims) - len(steps)
    return (*steps, *(slice(None),) * rest, lanes), rest > 0
