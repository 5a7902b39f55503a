"""Memory of the reference device: buffers, images, copied arrays, and the addresses of buffers."""

from __future__ import annotations

import math
import threading
from typing import Any
from weakref import WeakSet, finalize

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import DriverError, OutOfMemory
from vkgroup.device.base import DeviceBase, MemoryStatistics
from vkgroup.device.capabilities import Capabilities, DeviceInfo
from vkgroup.device.limits import require_buffer_size
from vkgroup.dispatch.bindings import ArrayBuffer
from vkgroup.dispatch.buffer import Buffer, as_bytes
from vkgroup.dispatch.dlpack import CPU
from vkgroup.dispatch.image import AXES, Image
from vkgroup.reference.interpreter.execution.models import FULL, ExecutionModel
from vkgroup.reference.interpreter.execution.observers import Observer
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.operations.memory import Memory

Bytes = npt.NDArray[np.uint8]

_FIRST_ADDRESS, _GAP = 1 << 32, 1 << 12


class Host(DeviceBase):
    """Interface of the reference device that its buffers, images and pipelines use."""

    _closed = False

    def __init__(self, info: DeviceInfo, capabilities: Capabilities, model: ExecutionModel = FULL) -> None:
        super().__init__(info, capabilities)
        self.model = model
        #: Sees each instruction of a dispatch, in which races are then searched for; None for none.
        self.observer: Observer | None = None
        self._addressed: WeakSet[ReferenceBuffer] = WeakSet()
        self._next_address = _FIRST_ADDRESS
        self._in_use = self._peak = 0
        self.lock = threading.RLock()  # held while work is executed, as a device has one queue

    def memory_statistics(self) -> MemoryStatistics:
        """Return the bytes of buffers and images; nothing is cached."""
        return MemoryStatistics(self._in_use, 0, self._peak, 0, 0)

    def trim(self) -> int:
        """Free nothing, because nothing is cached."""
        return 0

    def finished(self, number: int) -> bool:
        """Everything has finished, because work is executed when it is submitted."""
        return True

    def wait(self, number: int, timeout: float | None) -> None:
        """Return at once; nothing is in flight."""

    def synchronize(self, timeout: float | None) -> None:
        """Return at once; nothing is in flight."""

    def allocate(self, nbytes: int) -> Bytes:
        """Return zero bytes for a buffer or an image, and count them until they are freed."""
        data = allocate(nbytes)
        self._in_use += nbytes
        self._peak = max(self._peak, self._in_use)
        finalize(data, self._count_freed, nbytes).atexit = False
        return data

    def _count_freed(self, nbytes: int) -> None:
        self._in_use -= nbytes

    def assign_address(self, buffer: ReferenceBuffer) -> int:
        """Return an address for a buffer, with a gap after it, so that an overrun reaches no other buffer."""
        self._addressed.add(buffer)
        address = self._next_address
        self._next_address += -(-(buffer.nbytes + _GAP) // _GAP) * _GAP
        return address

    def addressable(self) -> list[Memory]:
        """Return the memories that have an address."""
        return [buffer.memory for buffer in self._addressed if buffer.memory is not None]

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self._closed

    def close(self) -> None:
        """Close everything made from the device."""
        self.close_children()
        self._closed = True


def allocate(nbytes: int) -> Bytes:
    """Return zero bytes; raise `OutOfMemory` if there is no memory for them."""
    try:
        return np.zeros(nbytes, np.uint8)
    except MemoryError:
        raise OutOfMemory(
            f"The host has no memory for {nbytes} bytes. Use smaller buffers.", "VK_ERROR_OUT_OF_HOST_MEMORY"
        ) from None


def write(memory: Memory, data: Bytes, offset: int = 0) -> None:
    """Write bytes from the host, and mark them as defined."""
    end = offset + data.size
    memory.data[offset:end] = data
    if memory.causes is None:
        return
    # Smaller granules: a granule that is written only in part is neither defined nor undefined.
    edges = offset | (end if end < memory.nbytes else 0)
    if edges % memory.granule:
        memory.refine(edges & -edges)
    memory.causes[offset // memory.granule : -(-end // memory.granule)] = 0


class ReferenceBuffer(Buffer):
    """A buffer in Python's memory."""

    device: Host
    memory: Memory | None = None  # the interpreter's view of it; None when closed
    _written_outside = False

    def _create(self, host: bool, shared: bool, *, written: bool = True) -> None:
        self.device.require_open()
        require_buffer_size(self.nbytes, self.device.capabilities)
        self.memory = Memory(
            self.device.allocate(self.nbytes), f"a buffer of {self.nbytes} bytes", defined=False
        )
        self.device.register(self)

    def _write(self, data: npt.NDArray[np.uint8], offset: int) -> None:
        write(self._whole(), data, self.offset + offset)

    def _read(self, out: npt.NDArray[np.uint8], offset: int) -> None:
        out[:] = self._opened().data[offset : offset + out.size]

    def defined(self) -> npt.NDArray[np.bool_]:
        """Return which bytes are defined, (nbytes,)."""
        self.begin()
        return self._opened().defined_elements((self.nbytes,), 1)

    def _address(self) -> int:
        if isinstance(self._viewed, ReferenceBuffer):
            return self._viewed._address() + self.offset
        memory = self._opened()
        if memory.address == 0:
            memory.address = self.device.assign_address(self)
        return memory.address

    def _start_view(self) -> None:
        start = self.offset
        data = self._whole().data[start : start + self.nbytes]
        self.memory = Memory(data, f"a view of {self.nbytes} bytes")
        self.device.register(self)

    def _whole(self) -> Memory:
        """Return the memory of the whole buffer, also for a view of it."""
        self._opened()
        return self._viewed._opened() if isinstance(self._viewed, ReferenceBuffer) else self._opened()

    def begin(self) -> None:
        """Before a dispatch: mark in a view the elements that are undefined in the viewed buffer."""
        owner = self._viewed if isinstance(self._viewed, ReferenceBuffer) else self
        owner._define()
        if self._viewed is None:
            return
        whole, part = self._whole(), self._opened()
        part.refine(1)
        part.causes = None
        if whole.causes is not None:
            whole.refine(1)
            part.causes = whole.causes[self.offset : self.offset + self.nbytes].copy()

    def end(self) -> None:
        """After a dispatch: mark in the viewed buffer the elements that are undefined in the view."""
        if self._viewed is None:
            return
        whole, part = self._whole(), self._opened()
        if part.causes is None and whole.causes is None:
            return
        whole.refine(1)
        if whole.causes is None:
            whole.causes = np.zeros(whole.granules, np.uint16)
        causes = 0 if part.causes is None else part.causes
        whole.causes[self.offset : self.offset + self.nbytes] = causes

    def _place(self) -> tuple[int, int]:
        self._whole()
        return CPU, 0

    def _lent(self) -> npt.NDArray[Any]:
        owner = self._viewed if isinstance(self._viewed, ReferenceBuffer) else self
        owner._written_outside = True
        owner._define()
        return self._opened().data.view(self.dtype).reshape(self.shape)

    def _duplicate(self) -> ReferenceBuffer:
        return ReferenceBuffer(self.device, self.read())

    def _define(self) -> None:
        """Mark everything as defined if another library can have written to the memory."""
        if self._written_outside:
            self._opened().causes = None

    def _opened(self) -> Memory:
        self.device.require_open()
        if self.memory is None:
            raise DriverError("The buffer is closed; make a new one.")
        return self.memory

    @property
    def closed(self) -> bool:
        """Whether the memory was freed."""
        return self.memory is None or (self._viewed is not None and self._viewed.closed)

    def close(self) -> None:
        """Free the memory; a view leaves the memory of its buffer."""
        if self.memory is not None:
            self.memory = None
            self.device.forget(self)


class CopiedArray(ArrayBuffer):
    """A copy of an array that is bound.

    `memory`: the interpreter's view of it.
    """

    def __init__(self, array: npt.NDArray[Any]) -> None:
        super().__init__(array)
        self.memory = Memory(allocate(array.nbytes), "an array")
        self.memory.data[:] = as_bytes(array)
        self._closed = False

    def read(self) -> npt.NDArray[Any]:
        """Copy the bytes back into a new array."""
        return self.memory.data.copy().view(self.dtype).reshape(self.shape)

    @property
    def closed(self) -> bool:
        """Whether the memory was freed."""
        return self._closed

    def close(self) -> None:
        """Free the memory."""
        self._closed = True


class ReferenceImage(Image):
    """An image in Python's memory."""

    device: Host
    memory: ImageMemory | None = None  # the interpreter's view of it; None when closed

    def _limits(self) -> tuple[tuple[int, int, int], int]:
        limits = self.device.capabilities.limits
        limit = int(limits[f"maxImageDimension{self.dimension}"])
        x, y, z = (limit if axis < AXES[self.dimension] else 1 for axis in range(3))
        return (x, y, z), int(limits["maxImageArrayLayers"])

    def _create(self) -> None:
        width, height, depth = self.extent
        sizes = [math.prod(self.shape_of(level)) for level in range(self.levels)]
        self.memory = ImageMemory(
            self.device.allocate(sum(sizes) * self.dtype.itemsize),
            f"an image of {self.shape}",
            self.format,
            dimension=self.dimension,
            extent=(width, height, depth),
            arrayed=self.arrayed,
            layers=self.layers,
            levels=self.levels,
            samples=self.samples,
            defined=False,
        )

    def _write(self, texels: npt.NDArray[np.uint8], level: int) -> None:
        assert self.memory is not None
        write(self.memory, texels, int(self.memory.starts[level]))

    def _read(self, level: int) -> npt.NDArray[np.uint8]:
        assert self.memory is not None
        return self.memory.data[self.memory.starts[level] : self.memory.starts[level + 1]].copy()

    def defined(self) -> npt.NDArray[np.bool_]:
        """Return which bytes of level 0 are defined, (nbytes,)."""
        self._require_open()
        assert self.memory is not None
        return self.memory.defined_elements((self.nbytes,), 1)

    @property
    def closed(self) -> bool:
        """Whether the image was closed."""
        return self.memory is None

    def close(self) -> None:
        """Free the texels."""
        if self.memory is not None:
            self.memory = None
            self.device.forget(self)
