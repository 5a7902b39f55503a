"""Buffers whose length the GPU computes: the host waits for it only when it is asked for."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from vkgroup.base.errors import DriverError
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.memory_sets import MemorySets

TOTAL = np.dtype(np.uint32)
"""Type of the number of elements."""

_counting = Lock()
"""Held while a number is read and its memory is given back."""


class CountedBuffer(VulkanBuffer):
    """A buffer of one axis, whose number of elements a submission writes to mapped memory.

    `shape` and `nbytes` wait for the submission when they are read for the first time. Until then the buffer
    has no such attributes, so that other buffers do not pay for this.

    Reading them raises DriverError if the device was closed, and DeviceLost if it was lost.
    """

    _number: int
    _total: tuple[MemorySets, list[DeviceBuffer]] | None = None

    def await_count(self, number: int, sets: MemorySets, total: list[DeviceBuffer]) -> None:
        """Let submission `number` determine the length, through `total`, a set of one buffer of `sets`."""
        del self.shape, self.nbytes
        self._number, self._total = number, (sets, total)

    def __getattr__(self, name: str) -> Any:
        """Return `shape` or `nbytes`, after waiting for the number of elements."""
        if name not in ("shape", "nbytes"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.device.require_open()
        self.device.wait(self._number, None)
        with _counting:
            if self._total is not None:
                sets, (total,) = self._total
                if total.mapped is None:  # another thread has closed the device
                    raise DriverError("The device was closed before the length of the buffer was read.")
                self._shorten(int(total.mapped.view(TOTAL)[0]))
                self._total = None
                sets.give([total])
        return self.__dict__[name]

    def __repr__(self) -> str:
        """Return the size if it is known: this neither waits nor fails if the device is closed or lost."""
        if "nbytes" in vars(self):
            return super().__repr__()
        return "<vkgroup Buffer; the GPU computes its length>"

    def __del__(self) -> None:
        # The set may be used again at once: later submissions execute later, and this number is not needed.
        if self._total is not None:
            sets, total = self._total
            sets.give(total)
        super().__del__()
