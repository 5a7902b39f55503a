"""The memory of an absent GPU: addresses, and the bytes of the host that stand for them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MemoryFault

ADDRESS_BITS = (1 << 48) - 1
"""GPU addresses have 48 bits; registers and descriptors hold them with or without their sign."""


class GpuMemory:
    """Ranges of GPU addresses mapped to one array of bytes.

    Addresses are integers or uint64 arrays of any shape. An access to an address that is not mapped raises
    `MemoryFault`.
    """

    def __init__(self, data: npt.NDArray[np.uint8]) -> None:
        self.data = data
        self._views: dict[int, Array] = {size: data.view(f"u{size}") for size in (1, 2, 4, 8)}
        self._ranges: dict[int, tuple[int, int]] = {}  # address: size, offset
        self._starts = np.zeros(0, np.uint64)
        self._ends = np.zeros(0, np.uint64)
        self._shifts = np.zeros(0, np.uint64)

    def map(self, address: int, size: int, offset: int) -> None:
        """Map addresses to the bytes at an offset; what was mapped there is replaced."""
        address &= ADDRESS_BITS
        self.unmap(address, size)
        self._ranges[address] = size, offset
        self._changed()

    def unmap(self, address: int, size: int) -> None:
        """Remove a range, also parts of what was mapped as a whole."""
        address &= ADDRESS_BITS
        end = address + size
        for start, (length, offset) in list(self._ranges.items()):
            if start >= end or start + length <= address:
                continue
            del self._ranges[start]
            if start < address:
                self._ranges[start] = address - start, offset
            if start + length > end:
                self._ranges[end] = start + length - end, offset + end - start
        self._changed()

    def _changed(self) -> None:
        ordered = sorted(self._ranges.items())
        self._starts = np.array([start for start, _ in ordered], np.uint64)
        self._ends = np.array([start + size for start, (size, _) in ordered], np.uint64)
        self._shifts = np.array([(offset - start) % 2**64 for start, (_, offset) in ordered], np.uint64)

    def offset(self, address: int, size: int) -> int:
        """Return where the bytes of a range lie in `data`; the range lies in one mapping."""
        address &= ADDRESS_BITS
        at = int(np.searchsorted(self._starts, np.uint64(address), "right")) - 1
        if at < 0 or address + size > int(self._ends[at]):
            raise MemoryFault(f"no memory at {address:#x}, {size} bytes")
        return (address + int(self._shifts[at])) % 2**64

    def words(self, address: int, count: int) -> npt.NDArray[np.uint32]:
        """Return a view of words of 32 bits."""
        at = self.offset(address, count * 4)
        return self.data[at : at + count * 4].view(np.uint32)

    def bytes(self, address: int, count: int) -> npt.NDArray[np.uint8]:
        """Return a view of bytes."""
        at = self.offset(address, count)
        return self.data[at : at + count]

    def _offsets(self, addresses: Array, size: int) -> Array:
        addresses = addresses & np.uint64(ADDRESS_BITS)
        at = np.searchsorted(self._starts, addresses, "right") - 1
        bad = at < 0
        if len(self._ends):
            bad |= addresses + np.uint64(size) > self._ends[at]
        if bad.any():
            raise MemoryFault(f"no memory at {int(addresses[bad][0]):#x}, {size} bytes")
        return np.asarray(addresses + self._shifts[at])

    def load(self, addresses: Array, size: int) -> Array:
        """Return unsigned integers of `size` bytes (1, 2, 4 or 8), with the shape of the addresses."""
        offsets = self._offsets(addresses, size)
        if size > 1 and (offsets & np.uint64(size - 1)).any():
            parts = [
                self._views[1][offsets + np.uint64(k)].astype(f"u{size}") << (8 * k) for k in range(size)
            ]
            return np.asarray(sum(parts[1:], parts[0]))
        return np.asarray(self._views[size][offsets >> np.uint64(size.bit_length() - 1)])

    def store(self, addresses: Array, values: Array, size: int) -> None:
        """Write unsigned integers of `size` bytes; of several to one address the last one stays."""
        offsets = self._offsets(addresses, size)
        if size > 1 and (offsets & np.uint64(size - 1)).any():
            for k in range(size):
                self._views[1][offsets + np.uint64(k)] = (values >> (8 * k)).astype(np.uint8)
            return
        self._views[size][offsets >> np.uint64(size.bit_length() - 1)] = values
