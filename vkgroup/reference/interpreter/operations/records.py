"""Records of the accesses to a memory, and what an access touches and stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.values.value import Causes, Data

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Record:
    """The last access of one sort to each granule, all of shape (granules,).

    Zeros, whose pages the system provides at the first access, stand for granules without an access.
    """

    def __init__(self, granules: int) -> None:
        self._others = np.zeros(granules, np.int64)  # the complement of each invocation
        self.position, self.when = np.zeros(granules, np.int64), np.zeros(granules, np.int64)
        #: `PRIVATE`, or the level that a write made itself available to, or the level of an atomic's scope.
        self.how = np.zeros(granules, np.int8)

    @property
    def untouched(self) -> Flags:
        """Which granules have no access, (granules,)."""
        return np.asarray(self._others == 0)

    def who(self, at: Numbers) -> Numbers:
        """Return the invocations that accessed some granules; -1 for none."""
        return ~self._others[at]

    def set_who(self, at: Numbers, who: Numbers) -> None:
        """Record the invocations that access some granules."""
        self._others[at] = ~who


class Target(NamedTuple):
    """What the accesses of one instruction touch."""

    offset: Numbers  # bytes from the start of the memory, (dims..., n) or (dims..., 1)
    itemsize: int
    skipped: Flags | None  # accesses that are dropped, in the shape of `offset`; None without any

    def flat(self, frame: Accessor, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the entries of an array of (dims..., n) for each access that is not dropped."""
        shape = np.broadcast_shapes(self.offset.shape, (len(frame.invocations),), array.shape)
        array = np.broadcast_to(array, shape)
        return array.reshape(-1) if self.skipped is None else array[~np.broadcast_to(self.skipped, shape)]


@dataclass(frozen=True)
class Store:
    """A plain store before it takes effect."""

    data: Data  # the values, which broadcast to (dims..., n)
    cause: Causes | None  # their causes; None if all are defined
    # `memory`, `causes`: bytes of the memory before the store, and the causes of its granules
    memory: npt.NDArray[np.uint8]
    causes: Causes | None

    def words(self, frame: Accessor, target: Target, granule: int) -> tuple[Numbers, Flags]:
        """Return the value that each access stores to each granule as a number, and whether it is defined.

        `granule`: bytes of a granule.
        """
        data = target.flat(frame, self.data)
        defined = np.ones(data.size, np.bool_) if self.cause is None else target.flat(frame, self.cause == 0)
        steps = data.itemsize // granule
        if not steps or data.dtype.kind not in "uif":
            # A part of a granule says nothing about the rest.
            return np.zeros(data.size, np.int64), np.zeros(data.size, np.bool_)
        words = np.ascontiguousarray(data).view(f"u{granule}").astype(np.int64)
        return words, np.repeat(defined, steps)

    def before(self, granules: Numbers, granule: int) -> tuple[Numbers, Flags]:
        """Return the numbers in the memory before the store, and whether they are defined."""
        whole = self.memory[: self.memory.size // granule * granule].view(f"u{granule}")
        if not len(whole):
            return np.zeros(granules.shape, np.int64), np.zeros(granules.shape, np.bool_)
        defined = granules < len(whole)
        if self.causes is not None:
            defined = defined & (self.causes[granules] == 0)
        return whole[np.minimum(granules, len(whole) - 1)].astype(np.int64), defined
