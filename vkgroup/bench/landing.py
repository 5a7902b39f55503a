"""Transfer of outputs to the host: compared in place, or copied by the GPU.

`Buffer.read` copies a GPU's data through a small buffer into a new array. For each GiB this takes hundreds of
transfers, copies on one core, and first accesses to new memory pages.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vkgroup.bench.definition import Arrays
from vkgroup.closing import Closing
from vkgroup.dispatch import Buffer, Copy, Device

_ALIGNMENT = 256
_TIMEOUT = 120.0


class Landing(Closing):
    """Host memory that a GPU copies outputs into; all variants of a row use it, one after the other."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._memory: Buffer | None = None

    def fetch(self, buffers: Mapping[str, Buffer]) -> Arrays:
        """Return the contents of buffers; they are valid until a buffer is written or the next fetch."""
        kind = self._device.capabilities.type
        if kind == "cpu":
            return {name: np.from_dlpack(buffer) for name, buffer in buffers.items()}
        if kind != "discrete_gpu":
            return {name: buffer.read() for name, buffer in buffers.items()}
        rooms = [-(-buffer.nbytes // _ALIGNMENT) * _ALIGNMENT for buffer in buffers.values()]
        memory = self._room(sum(rooms))
        starts = np.cumsum([0, *rooms]).tolist()
        places = {
            name: memory.view(buffer.dtype, buffer.shape, start)
            for (name, buffer), start in zip(buffers.items(), starts, strict=False)
        }
        copies = [Copy(buffer, places[name], nbytes=buffer.nbytes) for name, buffer in buffers.items()]
        with self._device.sequence(copies) as work:
            work.run(timeout=_TIMEOUT)
        return {name: np.from_dlpack(place) for name, place in places.items()}

    def _room(self, nbytes: int) -> Buffer:
        if self._memory is None or self._memory.nbytes < nbytes:
            self.close()
            self._memory = self._device.buffer(nbytes, host=True)
        return self._memory

    def close(self) -> None:
        """Release the memory; it remains while arrays still view it."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
