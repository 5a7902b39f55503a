"""Subgroups: the invocations that execute an instruction together, as rows of lanes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values.value import Data


class Subgroups:
    """Rows of lanes: the subgroups that have at least one active invocation.

    Parameters
    ----------
    size : lanes of a subgroup.
    row, lane : subgroup and lane of each active invocation, (n,), in ascending order; subgroups may be any
        numbers.
    optional : (n,), those that a device may leave out of group operations: helper invocations; None for
        none.

    Attributes
    ----------
    active : (rows, size) bool, the active lanes.
    optional : (rows, size) bool, the active lanes that a device may leave out; None for none.
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
