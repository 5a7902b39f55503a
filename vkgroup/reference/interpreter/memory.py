"""Memory that invocations share: bytes, which of them are undefined, and who touched them last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.site import BEFORE_HARD, BEFORE_SOFT, Site
from vkgroup.reference.interpreter.values import HARD, Causes, Data, combine, marked

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.frame import Frame
    from vkgroup.reference.interpreter.races import Accesses

Offsets = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Memory:
    """Bytes of a buffer, of shared variables, or of an image.

    Parameters
    ----------
    data : uint8, one-dimensional; used as it is, so writes go into it.
    name : for messages.
    defined : whether the bytes have a meaning before the first write.

    Attributes
    ----------
    granule : bytes that one entry of `causes` speaks of.
    causes : uint16, one for each granule; None where all is defined.
    kind : what a memory barrier must name to order it: ``"buffer"``, ``"workgroup"`` or ``"image"``.
    address : where it lies in physical storage; 0 where it has no address.
    writable : whether a shader may write there.
    accesses : who touched each granule last, while races are looked for.
    """

    def __init__(
        self, data: npt.NDArray[np.uint8], name: str, *, defined: bool = True, kind: str = "buffer"
    ) -> None:
        self.data = data
        self.name = name
        self.kind = kind
        self.granule = 4
        self.address = 0
        self.writable = True
        self.causes: Causes | None = None
        self.accesses: Accesses | None = None
        self._views: dict[np.dtype[Any], Data] = {}
        #: The end of the farthest access beyond the memory's own, in bytes; 0 where there was none.
        self.reached = 0
        #: A soft cause of a store that the order of atomics decided to happen; 0 where there was none.
        self.decided_store = 0
        #: The latest store of each hard cause: position and invocation, for messages.
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
        """Make granules smaller, where a shader works with small types."""
        if granule < self.granule:
            if self.causes is not None:
                self.causes = np.repeat(self.causes, self.granule // granule)[: -(-self.nbytes // granule)]
            self.granule = granule

    def begin(self) -> None:
        """Prepare for a dispatch: what earlier ones left undefined is no longer told apart."""
        self.stored_causes = {}
        self.decided_store = self.reached = 0
        self.accesses = None
        if self.causes is not None:
            soft = (self.causes != 0) & (self.causes < HARD)
            self.causes[self.causes >= HARD] = BEFORE_HARD
            self.causes[soft] = BEFORE_SOFT
            if not self.causes.any():
                self.causes = None

    def view(self, dtype: np.dtype[Any]) -> Data:
        """Return the bytes as an array of a type; what does not fill an element is left out."""
        found = self._views.get(dtype)
        if found is None:
            usable = self.data.size // dtype.itemsize * dtype.itemsize
            found = self._views[dtype] = self.data[:usable].view(dtype)
        return found

    # --- reading --------------------------------------------------------------------------------------

    def load(
        self, frame: Frame, site: Site, offset: Offsets, dtype: np.dtype[Any]
    ) -> tuple[Data, Causes | None]:
        """Read numbers.

        Parameters
        ----------
        offset : bytes from the start, (dims..., n) or (dims..., 1).
        dtype : of the numbers.

        Returns
        -------
        The numbers in the shape of `offset`, and what is undefined about them. What lies outside reads as
        zero, undefined, and is reported.
        """
        outside = self._outside(offset, dtype.itemsize)
        if outside is not None:
            frame.report_bounds(site, self, outside, offset)
            offset = np.where(outside, 0, offset)
            if self.nbytes < dtype.itemsize:
                return np.zeros(offset.shape, dtype), marked(outside, site.cause("bounds", _BOUNDS))
        data = self._gather(offset, dtype)
        cause = self.causes_at(offset, dtype.itemsize)
        if self.accesses is not None:
            racing = self.accesses.read(frame, site, self, offset, dtype.itemsize, outside)
            if racing is not None:
                cause = combine(cause, marked(racing, site.cause("race", _RACE)))
        if outside is not None:
            data = np.where(outside, dtype.type(0), data)
            cause = combine(cause, marked(outside, site.cause("bounds", _BOUNDS)))
        return data, cause

    def _outside(self, offset: Offsets, itemsize: int) -> Flags | None:
        """Tell which places are not inside; None where all are."""
        if offset.size == 0 or (int(offset.min()) >= 0 and int(offset.max()) + itemsize <= self.nbytes):
            return None
        # Not `offset + itemsize`, which an address near the end of 64 bits would wrap around.
        return (offset < 0) | (offset > self.nbytes - itemsize)

    def _gather(self, offset: Offsets, dtype: np.dtype[Any]) -> Data:
        itemsize = dtype.itemsize
        if itemsize == 1:
            return self.view(dtype)[offset]
        if not _is_aligned(offset, itemsize):
            parts = self.data[offset[..., None] + np.arange(itemsize)]
            return np.ascontiguousarray(parts).view(dtype)[..., 0]
        return self.view(dtype).take(offset >> (itemsize.bit_length() - 1))

    def causes_at(self, offset: Offsets, itemsize: int) -> Causes | None:
        """Return what is undefined of numbers at these places, in their shape; None where nothing is."""
        if self.causes is None:
            return None
        first = offset // self.granule
        found = self.causes[first]
        for step in range(1, -(-itemsize // self.granule)):
            found = np.maximum(found, self.causes[np.minimum(first + step, self.granules - 1)])
        return found if found.any() else None

    # --- writing --------------------------------------------------------------------------------------

    def store(
        self,
        frame: Frame,
        site: Site,
        offset: Offsets,
        data: Data,
        cause: Causes | None,
    ) -> None:
        """Write numbers; what lies outside is reported and dropped.

        Parameters
        ----------
        offset : bytes from the start, (dims..., n) or (dims..., 1).
        data, cause : broadcast to (dims..., n). Of several invocations that write to the same place the
            last one's number stays.
        """
        itemsize = data.dtype.itemsize
        racing = np.zeros(0, np.int64)
        outside = self._outside(offset, itemsize)
        if outside is not None:
            frame.report_bounds(site, self, outside, offset)
        if cause is not None and int(cause.max()) >= HARD:
            frame.remember_stored(site, self, cause)
        self.decided_store = max(self.decided_store, frame.order_of_atomics)
        if self.accesses is not None:
            racing = self.accesses.write(frame, site, self, offset, itemsize, outside)
        if offset.shape[-1] == 1:
            # All invocations write to the same places: what the last of them writes stays.
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
        """Finish a dispatch in which races were looked for, and every access remembered.

        Where the order of atomics decided that a store happens, another order may store elsewhere: what no
        store has touched is left to the order, too.
        """
        if self.accesses is not None and self.decided_store:
            untouched = self.accesses.untouched
            if self.causes is None:
                self.causes = np.zeros(self.granules, np.uint16)
            self.causes[untouched & (self.causes == 0)] = self.decided_store
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
        """Record what is undefined of numbers that were just written."""
        if cause is not None and not cause.any():
            cause = None
        if cause is None and self.causes is None:
            return
        if self.causes is None:
            self.causes = np.zeros(self.granules, np.uint16)
        first = offset // self.granule
        for step in range(max(1, itemsize // self.granule)):
            self.causes[first + step] = 0 if cause is None else cause


_RACE = "invocations access it in no order, and one writes"
_BOUNDS = "an access outside of its memory reads anything"


def _is_aligned(offset: Offsets, itemsize: int) -> bool:
    return not bool((offset & (itemsize - 1)).any()) if offset.size else True
