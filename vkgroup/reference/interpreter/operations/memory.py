"""Memory that invocations share: its bytes, and the causes of undefined bytes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.events import EventCause
from vkgroup.reference.interpreter.operations.accessor import Accessor, Flags
from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.operations.races import Accesses
from vkgroup.reference.interpreter.operations.records import Store, Target
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    BEFORE_HARD,
    BEFORE_SOFT,
    HARD,
    Causes,
    Data,
    combine,
    marked,
)

Offsets = npt.NDArray[np.int64]


class Memory:
    """Bytes of a buffer, of shared variables, or of an image.

    `data`: uint8, one-dimensional; used as it is, so writes go into it.
    `name`: for messages.
    `defined`: whether the bytes have a meaning before the first write.
    `copies`: number of workgroups with a copy of a shared variable.

    Attributes: `label`: the name with the index of an array of descriptors, for messages.
    `granule`: bytes for each entry of `causes`.
    `causes`: uint16, one for each granule; None where all bytes are defined.
    `kind`: kind of memory, as memory barriers name it: ``"buffer"``, ``"workgroup"`` or ``"image"``.
    `address`: its start in physical storage; 0 where it has no address.
    `writable`: whether a shader may write to it.
    `accesses`: the last accesses to each granule, while data races are searched for; else None.
    `written`: which granules the last dispatch wrote; None if it did not search for data races.
    `reached`: the end of the farthest access beyond the memory, in bytes; 0 where there was none.
    `stored_causes`: position and invocation of the latest store of each hard cause, for messages.
    """

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        name: str,
        *,
        defined: bool = True,
        kind: str = "buffer",
        copies: int = 1,
    ) -> None:
        self.data, self.copies = data, copies
        self.name = self.label = name
        self.kind = kind
        self.granule = 4
        self.address = 0
        self.writable = True
        self.causes: Causes | None = None
        #: Of shared memory: the cause of bytes that nothing has written, and its number.
        self.unwritten: tuple[int, EventCause] | None = None
        self.accesses: Accesses | None = None
        self.written: Flags | None = None
        self._views: dict[np.dtype[Any], Data] = {}
        self.reached = 0
        #: The soft cause of a store that happens only in some orders of atomics; 0 if there was none.
        self.decided_store = 0
        self.stored_causes: dict[int, tuple[int, int]] = {}
        if not defined:
            self.causes = np.full(self.granules, BEFORE_HARD, np.uint16)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.data.size

    @property
    def granules(self) -> int:
        """Number of entries of `causes`."""
        return -(-self.data.size // self.granule)

    def refine(self, granule: int) -> None:
        """Make granules smaller, for a shader with small types."""
        if granule < self.granule:
            if self.causes is not None:
                self.causes = np.repeat(self.causes, self.granule // granule)[: -(-self.nbytes // granule)]
            self.granule = granule

    def begin(self) -> None:
        """Prepare for a dispatch: bytes that earlier dispatches left undefined get one of two causes."""
        self.stored_causes = {}
        self.decided_store = self.reached = 0
        self.accesses = self.written = None
        if self.causes is not None:
            soft = (self.causes != 0) & (self.causes < HARD)
            self.causes[self.causes >= HARD] = BEFORE_HARD
            self.causes[soft] = BEFORE_SOFT
            if not self.causes.any():
                self.causes = None

    def record_accesses(self, order: Order) -> None:
        """Begin to search for data races among the accesses of a dispatch."""
        self.accesses = Accesses(order, self.granules, self.granule, self.name, self.kind)

    def view(self, dtype: np.dtype[Any]) -> Data:
        """Return the complete elements as an array of a type."""
        view = self._views.get(dtype)
        if view is None:
            usable = self.data.size // dtype.itemsize * dtype.itemsize
            view = self._views[dtype] = self.data[:usable].view(dtype)
        return view

    def defined_elements(self, shape: tuple[int, ...], itemsize: int, *, ordered: bool = False) -> Flags:
        """Return which elements of an array that begins at the first byte are defined, in its shape.

        `itemsize`: bytes of an element.
        `ordered`: whether elements that depend on the order of atomics count as not defined.
        """
        if self.causes is None:
            return np.ones(shape, np.bool_)
        known = self.causes < (1 if ordered else HARD)
        per_byte = np.repeat(known, self.granule)[: math.prod(shape) * itemsize]
        return np.asarray(per_byte.reshape(*shape, itemsize).all(axis=-1))

    # --- reading --------------------------------------------------------------------------------------

    def load(
        self, frame: Accessor, site: Site, offset: Offsets, dtype: np.dtype[Any]
    ) -> tuple[Data, Causes | None]:
        """Read numbers.

        `offset`: bytes from the start, (dims..., n) or (dims..., 1).
        `dtype`: of the numbers.

        Returns the numbers in the shape of `offset`, and their causes. Reads out of bounds
        return zero, marked as undefined, and are reported.
        """
        outside = self._outside(offset, dtype.itemsize)
        if outside is not None:
            self.report_outside(frame, site, outside, offset)
            offset = np.where(outside, 0, offset)
            if self.nbytes < dtype.itemsize:
                return np.zeros(offset.shape, dtype), marked(outside, site.cause("bounds", _BOUNDS))
        data = self._gather(offset, dtype)
        cause = self._read_here(site, self.causes_at(offset, dtype.itemsize))
        if self.accesses is not None:
            racing = self.accesses.read(frame, site, Target(offset, dtype.itemsize, outside))
            if racing is not None:
                cause = combine(cause, marked(racing, site.cause("race", _RACE)))
        if outside is not None:
            data = np.where(outside, dtype.type(0), data)
            cause = combine(cause, marked(outside, site.cause("bounds", _BOUNDS)))
        return data, cause

    def _outside(self, offset: Offsets, itemsize: int) -> Flags | None:
        """Return which accesses are out of bounds; None if none is."""
        if offset.size == 0 or (int(offset.min()) >= 0 and int(offset.max()) + itemsize <= self.nbytes):
            return None
        # `offset + itemsize` would overflow for an address near 2^64.
        return (offset < 0) | (offset > self.nbytes - itemsize)

    def _gather(self, offset: Offsets, dtype: np.dtype[Any]) -> Data:
        itemsize = dtype.itemsize
        if itemsize == 1:
            return self.view(dtype)[offset]
        if not _is_aligned(offset, itemsize):
            parts = self.data[offset[..., None] + np.arange(itemsize)]
            return np.ascontiguousarray(parts).view(dtype)[..., 0]
        return self.view(dtype).take(offset >> (itemsize.bit_length() - 1))

    def _read_here(self, site: Site, cause: Causes | None) -> Causes | None:
        """Return the causes of a load: what was never written gets that of this load."""
        if cause is None or self.unwritten is None:
            return cause
        number, fact = self.unwritten
        fresh = cause == number
        return np.where(fresh, np.uint16(site.causes.number(replace(fact, read=site.position))), cause)

    def causes_at(self, offset: Offsets, itemsize: int) -> Causes | None:
        """Return the causes of numbers at some offsets, in their shape; None where all are defined."""
        if self.causes is None:
            return None
        first = offset // self.granule
        causes = self.causes[first]
        for step in range(1, -(-itemsize // self.granule)):
            causes = np.maximum(causes, self.causes[np.minimum(first + step, self.granules - 1)])
        return causes if causes.any() else None

    # --- reports --------------------------------------------------------------------------------------

    def report_outside(self, frame: Accessor, site: Site, outside: Flags, offset: Offsets) -> None:
        """Report accesses outside of the memory; `outside` is (dims..., n) or (dims..., 1)."""
        lanes = np.asarray(outside.reshape(-1, outside.shape[-1]).any(axis=0))
        if not lanes.any():
            return
        self.reached = max(self.reached, int(np.where(outside, offset, 0).max()) + 1)
        first = np.broadcast_to(offset, outside.shape).reshape(-1, outside.shape[-1])[0]
        frame.report(
            "bounds",
            site,
            lanes,
            f"an access outside of {self.label}, which has {self.nbytes // self.copies} bytes",
            memory=self.name,
            offset=np.broadcast_to(first, (frame.count,)),
        )

    def record_stored(self, frame: Accessor, site: Site, cause: Causes) -> None:
        """Record one store of each undefined value, for the report at the end of the dispatch."""
        numbers = np.unique(cause[cause >= HARD]) if cause.size > 1 else cause.reshape(-1)
        for number in numbers[:8].tolist():
            lane = 0
            if cause.shape and cause.shape[-1] == frame.count:
                per_lane = (cause == number).reshape(-1, frame.count).any(axis=0)
                lane = int(np.argmax(per_lane))
            self.stored_causes[number] = (site.position, int(frame.invocations[lane]))

    # --- writing --------------------------------------------------------------------------------------

    def store(self, frame: Accessor, site: Site, offset: Offsets, data: Data, cause: Causes | None) -> None:
        """Write numbers. Writes outside of the memory are reported and dropped.

        `offset`: bytes from the start, (dims..., n) or (dims..., 1).
        `data`, `cause`: broadcast to (dims..., n). If several invocations write to the same bytes, the
        number of the last one stays.
        """
        itemsize = data.dtype.itemsize
        racing = np.zeros(0, np.int64)
        outside = self._outside(offset, itemsize)
        if outside is not None:
            self.report_outside(frame, site, outside, offset)
        if cause is not None and int(cause.max()) >= HARD:
            self.record_stored(frame, site, cause)
        self.decided_store = max(self.decided_store, frame.order_of_atomics)
        if self.accesses is not None:
            store = Store(data, cause, self.data, self.causes)
            racing = self.accesses.write(frame, site, Target(offset, itemsize, outside), store)
        if offset.shape[-1] == 1:
            # All invocations write to the same bytes: the numbers of the last one stay.
            data, cause = data[..., -1:], None if cause is None else cause[..., -1:]
        if outside is not None:
            shape = np.broadcast_shapes(offset.shape, data.shape)
            chosen = np.broadcast_to(~outside, shape)
            offset = np.broadcast_to(offset, shape)[chosen]
            data = np.broadcast_to(data, shape)[chosen]
            cause = None if cause is None else np.broadcast_to(cause, shape)[chosen]
        self._scatter(offset, data)
        self.mark(offset, itemsize, cause)
        if racing.size:
            race = np.array(site.cause("race", _RACE), np.uint16)
            self.mark(racing * self.granule, self.granule, race)

    def end(self) -> None:
        """Finish a dispatch; where data races were searched for, drop the recorded accesses.

        If a store happens only in some orders of atomics, another order may store elsewhere. So bytes that
        no store has written also depend on the order.
        """
        if self.accesses is None:
            return
        self.written = ~self.accesses.untouched
        if self.decided_store:
            if self.causes is None:
                self.causes = np.zeros(self.granules, np.uint16)
            self.causes[~self.written & (self.causes == 0)] = self.decided_store
        self.accesses = None

    def _scatter(self, offset: Offsets, data: Data) -> None:
        itemsize = data.dtype.itemsize
        if itemsize == 1:
            self.view(data.dtype)[offset] = data
        elif _is_aligned(offset, itemsize):
            self.view(data.dtype)[offset >> (itemsize.bit_length() - 1)] = data
        else:
            spread = np.ascontiguousarray(np.broadcast_to(data, offset.shape))
            self.data[offset[..., None] + np.arange(itemsize)] = spread[..., None].view(np.uint8)

    def mark(self, offset: Offsets, itemsize: int, cause: Causes | None) -> None:
        """Set the causes of numbers that were just written."""
        if cause is not None and not cause.any():
            cause = None
        if cause is None and self.causes is None:
            return
        if self.causes is None:
            self.causes = np.zeros(self.granules, np.uint16)
        first = offset // self.granule
        for step in range(max(1, itemsize // self.granule)):
            self.causes[first + step] = 0 if cause is None else cause


_RACE = "invocations access it, one of them writes, and nothing orders the accesses"
_BOUNDS = "an access outside of its memory reads an undefined value"


def _is_aligned(offset: Offsets, itemsize: int) -> bool:
    return not bool((offset & (itemsize - 1)).any()) if offset.size else True
