"""Transfers between arrays of the host and memory that the host cannot access.

Large arrays go in pieces through several staging buffers: threads copy pieces between the array and the
staging buffers while the device copies others. NumPy's copies release Python's lock. Arrays in memory of
`HostMemory` are copied by the device alone.
"""

from __future__ import annotations

import os
from bisect import bisect_right, insort
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, Protocol
from weakref import ref

import numpy as np
import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.commands import Commands, Used
from vkgroup.device.core import DeviceCore

Bytes = npt.NDArray[np.uint8]

PIECE_BYTES = 16 << 20
"""Size of a staging buffer; larger transfers go in pieces of it."""

_SMALLEST_PIECE = 1 << 20
"""Smaller transfers are not divided among threads."""

MOST_THREADS = 14
"""Maximum number of threads; more of them, and larger pieces, did not help on a host with 16 processors."""

STAGING_BUFFERS = MOST_THREADS + 4

TRANSFER_TIMEOUT = 60.0
"""Seconds that one piece of a transfer may take."""


class Memory(Used, Protocol):
    """A VkBuffer of `nbytes`; `mapped` are its bytes if the host can access them."""

    nbytes: int
    handle: Any
    mapped: Bytes | None

    def close(self) -> None:
        """Free the buffer once no submitted work uses it."""


class _Staging:
    """A mapped buffer, and the commands that copy between it and others; `number` is its last submission."""

    def __init__(self, device: DeviceCore, buffer: Memory) -> None:
        assert buffer.mapped is not None
        self.buffer, self.bytes, self.number = buffer, buffer.mapped, 0
        self.commands = Commands(device, "a transfer")


class Transfers:
    """The transfers of one device; `make` returns a buffer of the host's memory."""

    def __init__(
        self, device: DeviceCore, make: Callable[[int], Memory], barrier: Callable[..., None]
    ) -> None:
        self._device, self._make, self._barrier = device, make, barrier
        self._idle: SimpleQueue[_Staging] = SimpleQueue()
        self._made = 0
        self._lock = device.lock

    def upload(self, data: Bytes, target: Memory, offset: int) -> None:
        """Copy bytes into a buffer. The bytes have been read when this returns; the device may still copy."""
        piece = _piece(data.size)
        if data.size <= piece:
            self._upload(data, target, offset)
            return
        starts = range(0, data.size, piece)
        _in_threads(lambda at: self._upload(data[at : at + piece], target, offset + at), starts)

    def download(self, source: Memory, offset: int, out: Bytes) -> None:
        """Copy bytes out of a buffer, after the work that was submitted before."""
        piece = _piece(out.size)
        if out.size <= piece:
            self._download(source, offset, out, poll=True)
            return
        starts = range(0, out.size, piece)
        _in_threads(lambda at: self._download(source, offset + at, out[at : at + piece], poll=False), starts)

    def _upload(self, data: Bytes, target: Memory, offset: int) -> None:
        staging = self._take()
        try:
            staging.bytes[: data.size] = data
            self.copy(staging.commands, (staging.buffer, 0), (target, offset), data.size)
            staging.number = staging.buffer.used
        finally:
            self._idle.put(staging)

    def _download(self, source: Memory, offset: int, out: Bytes, *, poll: bool) -> None:
        staging = self._take()
        try:
            self.copy(staging.commands, (source, offset), (staging.buffer, 0), out.size)
            staging.number = staging.buffer.used
            self._device.wait(staging.number, TRANSFER_TIMEOUT, poll=poll)
            out[:] = staging.bytes[: out.size]
        finally:
            self._idle.put(staging)

    def copy(
        self, commands: Commands, source: tuple[Memory, int], target: tuple[Memory, int], nbytes: int
    ) -> int:
        """Submit a copy between two buffers, each with an offset; returns the number of the submission."""
        functions = self._device.functions
        region = vk.new("VkBufferCopy", srcOffset=source[1], dstOffset=target[1], size=nbytes)
        with self._device.lock:
            commands.use((source[0], target[0]))
            with commands.record() as handle:
                functions.vkCmdCopyBuffer(handle, source[0].handle, target[0].handle, 1, region)
                self._barrier(functions, handle)
            number = commands.submit()
        commands.settle(number)
        return number

    def copy_alone(self, source: tuple[Memory, int], target: tuple[Memory, int], nbytes: int) -> int:
        """Submit a copy between two buffers with its own commands; returns the number of the submission."""
        commands = Commands(self._device, "a transfer")
        try:
            return self.copy(commands, source, target, nbytes)
        finally:
            commands.close()

    def trim(self) -> None:
        """Free the staging buffers that are not in use; later transfers make new ones."""
        while True:
            try:
                staging = self._idle.get_nowait()
            except Empty:
                return
            with self._lock:
                self._made -= 1
            staging.commands.close()
            staging.buffer.close()

    def _take(self) -> _Staging:
        """Return a staging buffer that the device does not use any more."""
        while True:
            with self._lock:
                new = self._made < STAGING_BUFFERS and self._idle.empty()
                self._made += new
            if new:
                return self._new()
            try:
                staging = self._idle.get(timeout=0.1)
            except Empty:  # all are in use, or `trim` has freed them
                continue
            try:
                self._device.wait(staging.number, TRANSFER_TIMEOUT, poll=False)
            except BaseException:
                self._idle.put(staging)
                raise
            return staging

    def _new(self) -> _Staging:
        try:
            return _Staging(self._device, self._make(PIECE_BYTES))
        except BaseException:
            with self._lock:
                self._made -= 1
            raise


class HostMemory:
    """Memory of the host that the device reads and writes, by the host's addresses."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._buffers: dict[int, ref[Memory]] = {}

    def add(self, start: int, buffer: Memory) -> None:
        """Store the address of a mapped buffer."""
        insort(self._starts, start)
        self._buffers[start] = ref(buffer)

    def remove(self, start: int) -> None:
        """Forget an address."""
        if self._buffers.pop(start, None) is not None:
            self._starts.remove(start)

    def find(self, data: Bytes) -> tuple[Memory, int] | None:
        """Return the buffer that contains an array's bytes, and their offset in it; None if none does."""
        if not self._starts:
            return None
        address = int(data.ctypes.data)
        number = bisect_right(self._starts, address) - 1
        if number < 0:
            return None
        start = self._starts[number]
        buffer = self._buffers[start]()
        if buffer is None or address + data.size > start + buffer.nbytes:
            return None
        return buffer, address - start


def _threads() -> int:
    return min(MOST_THREADS, os.cpu_count() or 1)


def _piece(nbytes: int) -> int:
    """Return the size of the pieces of a transfer: one for each thread, as far as their size is useful."""
    each = -(-nbytes // _threads())
    return min(PIECE_BYTES, max(_SMALLEST_PIECE, -(-each // 4096) * 4096))


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), thread_name_prefix="vkgroup-transfer")


def _in_threads(function: Callable[[int], None], arguments: range) -> None:
    """Call a function with each argument in threads, and raise the first of its errors."""
    futures = [_executor().submit(function, argument) for argument in arguments]
    try:
        for future in futures:
            future.result()
    finally:
        for future in futures:
            future.cancel()
        # Pieces that were begun would otherwise be copied after the next transfer.
        wait(futures)
