"""Closed buffers that are kept for the next ones of their size."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from vkgroup.device.core import DeviceCore
from vkgroup.device.pool import Allocation, MemoryPool

Bytes = npt.NDArray[np.uint8]

_KEPT_ON_HOST, _KEPT_ON_GPU, _MOST_KINDS = 64 << 20, 4 << 30, 256
"""Bytes and kinds of closed buffers that are kept for the next ones of their size."""

Kept = tuple[Any, Allocation | None, Bytes | None, Bytes | None, int, int]
"""VkBuffer, memory, `mapped`, `window`, serial number and last submission of a closed buffer."""


class Keepable(Protocol):
    """A buffer, which is open as long as it has an `allocation`."""

    nbytes: int
    allocation: Allocation | None

    def close(self) -> None:
        """Close it; its memory may be kept."""

    def free(self) -> None:
        """Close it and free its memory."""


class BufferOwner(DeviceCore):
    """The device of kept buffers; `closing` while it is being closed.

    `memory_properties`: its VkPhysicalDeviceMemoryProperties.
    `pool`: the memory of buffers and images.
    """

    closing: bool
    memory_properties: Any
    pool: MemoryPool

    @abstractmethod
    def free_buffer(self, handle: Any, allocation: Allocation | None) -> None:
        """Destroy a VkBuffer and free its memory, once no submitted work can use it."""


B = TypeVar("B", bound=Keepable)
T = TypeVar("T")


class KeptBuffers(Generic[B]):
    """Closed buffers that serve the next ones of their size, so that recordings that use them are used again.

    Work in flight may still use them: later work of the device comes after it, and the host waits for it.

    `ready` has buffers by size that were not closed, because nothing refers to them any more. They are like
    new ones of the device's own memory, and taking one of them is fastest.
    """

    def __init__(self, device: BufferOwner) -> None:
        self._device = device
        self._kept: OrderedDict[Any, list[Kept]] = OrderedDict()
        self.ready: dict[int, list[B]] = {}
        # Threads and finalizers may lose an addition; where the limit is exceeded, all are added again.
        self._estimate = 0
        discrete = device.capabilities.type == "discrete_gpu"
        self._most = _KEPT_ON_GPU if discrete else _KEPT_ON_HOST

    @property
    def nbytes(self) -> int:
        """Number of bytes that are kept."""
        kept = [entry[1] for entries in list(self._kept.values()) for entry in list(entries)]
        kept += [buffer.allocation for buffers in list(self.ready.values()) for buffer in list(buffers)]
        return sum(allocation.size for allocation in kept if allocation is not None)

    def take_ready(self, nbytes: int) -> B | None:
        """Return a buffer that nothing refers to; None if there is none of this size."""
        try:
            buffer = self.ready[nbytes].pop()
        except (KeyError, IndexError):  # none, or another thread was faster
            return None
        if buffer.allocation is None:  # the device was closed
            return None
        self._estimate -= buffer.allocation.size
        return buffer

    def keep_ready(self, buffer: B) -> None:
        """Keep a buffer that nothing else refers to, or close it."""
        device, allocation = self._device, buffer.allocation
        if allocation is None or device.lost or device.handle is None:
            return
        nbytes = self._estimate + allocation.size
        buffers = self.ready.get(buffer.nbytes)
        if buffers is None or nbytes > self._most or device.closing:
            buffer.close()  # which keeps it, or makes room
            if buffers is None and len(self.ready) < _MOST_KINDS:
                self.ready[buffer.nbytes] = []
            return
        buffers.append(buffer)
        self._estimate = nbytes

    def take(self, kind: Any, written: bool) -> Kept | None:
        """Return the kept buffer of a kind that was closed last; None if there is none.

        If the host writes to it at once (`written`), mapped memory that is in use is not taken.
        """
        buffers = self._kept.get(kind)
        if not buffers:
            return None
        if written:
            try:
                _, _, mapped, window, _, used = buffers[-1]
            except IndexError:  # another thread was faster
                return None
            if (mapped is not None or window is not None) and not self._device.finished(used):
                return None
        try:
            kept = buffers.pop()
        except IndexError:  # another thread was faster
            return None
        assert kept[1] is not None
        self._estimate -= kept[1].size
        return kept

    def keep(self, kind: Any, kept: Kept) -> bool:
        """Keep a buffer; False if it is too large, or the device is of no use any more."""
        allocation = kept[1]
        if allocation is None or allocation.size > self._most // 4:
            return False
        if not self._device.usable or self._device.lost or self._device.closing:
            return False
        self._kept.setdefault(kind, []).append(kept)
        self._kept.move_to_end(kind)
        self._estimate += allocation.size
        if self._estimate > self._most:
            self._estimate = self.nbytes
            if self._estimate > self._most:
                self._close_ready()
        while self._kept and (self._estimate > self._most or len(self._kept) > _MOST_KINDS):
            self._free(next(iter(self._kept)))
        return True

    def clear(self) -> None:
        """Free all kept buffers."""
        self._close_ready()
        while self._kept:
            self._free(next(iter(self._kept)))
        self._estimate = 0

    def _close_ready(self) -> None:
        """Free the buffers that nothing refers to."""
        while self.ready:
            for buffer in _emptied(self.ready.popitem()[1]):
                if buffer.allocation is not None:
                    self._estimate -= buffer.allocation.size
                    buffer.free()

    def _free(self, kind: Any) -> None:
        for handle, allocation, *_ in _emptied(self._kept.pop(kind, [])):
            assert allocation is not None
            self._estimate -= allocation.size
            self._device.free_buffer(handle, allocation)


def _emptied(entries: list[T]) -> Iterator[T]:
    """Take the entries out of a list one by one, since another thread may take one at the same time."""
    while entries:
        try:
            yield entries.pop()
        except IndexError:  # another thread was faster
            return
