"""Buffers for arrays, which one call after the other uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.device.memory import DeviceBuffer, MemoryDevice
from vkgroup.dispatch.buffer import as_bytes

_MOST_IDLE = 32
"""Sets that are kept. A launcher keeps as many recordings."""


@dataclass(frozen=True)
class BufferPlacement:
    """The size of a buffer, and where it lies on a discrete GPU; elsewhere all memory is the host's.

    `host`: in the host's memory. Otherwise it is in the GPU's, and the host writes to it directly.
    """

    nbytes: int
    host: bool


class MemorySets:
    """Sets of buffers. A call takes a set, and gives it back when its work has finished."""

    def __init__(self, device: MemoryDevice, places: Sequence[BufferPlacement]) -> None:
        self._device, self.places = device, tuple(places)
        self.views = [(0, place.nbytes) for place in places]
        self._idle: list[list[DeviceBuffer]] = []

    def take(self) -> list[DeviceBuffer]:
        """Return a set that nothing uses."""
        self._device.require_open()
        while self._idle:
            try:
                memories = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            # Closed ones: Ctrl-C came between giving them back and returning.
            if all(memory.handle is not None for memory in memories):
                return memories
        memories = []
        try:
            for place in self.places:
                memories.append(
                    DeviceBuffer(self._device, place.nbytes, host=place.host, window=not place.host)
                )
        except BaseException:
            close_all(memories)
            raise
        return memories

    def give(self, memories: list[DeviceBuffer]) -> None:
        """Take a set back, whose work has finished."""
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(memories)
        else:
            close_all(memories)

    def trim(self) -> None:
        """Close the sets that nothing uses."""
        while True:
            try:
                close_all(self._idle.pop())
            except IndexError:
                return


def close_all(memories: Sequence[DeviceBuffer]) -> None:
    """Close buffers; their memory is free once no work uses it."""
    for memory in memories:
        memory.close()


def fill(memory: DeviceBuffer, array: npt.NDArray[Any]) -> None:
    """Copy an array to the beginning of a buffer that no work uses."""
    target = memory.mapped if memory.mapped is not None else memory.window
    assert target is not None
    source = as_bytes(array)
    if source.size != target.size:
        target = target[: source.size]
    target[...] = source


def copied(memory: DeviceBuffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a copy of a mapped buffer's bytes as an array, after the work that writes them."""
    assert memory.mapped is not None
    return memory.mapped.copy().view(dtype).reshape(shape)
