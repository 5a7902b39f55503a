"""Transfers between arrays of the host and memory that the host cannot access.

Large arrays go in pieces through several staging buffers: threads copy pieces between the array and the
staging buffers while the device copies others. Arrays in memory of `HostMemory` are copied by the device
alone.

While the main queue works on something that a transfer does not need, the transfer uses the queue of
`vkgroup.device.transfer_queue`, if the device has one.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from typing import Protocol
from weakref import ref

import numpy as np

from vkgroup.device import vk
from vkgroup.device.barriers import SHADER, TRANSFER, barrier_between
from vkgroup.device.commands import Commands
from vkgroup.device.core import DeviceCore
from vkgroup.device.host_threads import (
    LARGEST_ALONE,
    MOST_THREADS,
    Bytes,
    copiers,
    executor,
    host_copy,
    in_threads,
    thread_count,
)
from vkgroup.device.timeline import Timeline
from vkgroup.device.transfer_queue import CopiedBuffer, TransferQueue

PIECE_BYTES = 16 << 20
"""Size of a staging buffer; larger transfers go in pieces of it."""

SMALLEST_BESIDE = 1 << 16
"""Smaller uploads always use the main queue: no caller waits for them, and one submission is cheaper."""

_MOST_COPIES = 32
"""Copies without a staging buffer whose commands are kept."""

STAGING_BUFFERS = MOST_THREADS + 4

_AHEAD, _MOST_OWN = 6, MOST_THREADS + 2
"""Pieces of a download that the device copies while threads copy others, and its staging buffers."""

TRANSFER_TIMEOUT = 60.0
"""Seconds that one piece of a transfer may take."""


class TransferMemory(CopiedBuffer, Protocol):
    """A VkBuffer of `nbytes`; `mapped` are its bytes if the host can access them."""

    nbytes: int
    serial: int
    mapped: Bytes | None

    def close(self) -> None:
        """Free the buffer once no submitted work uses it."""


class _Staging:
    """A mapped buffer, and the commands that copy between it and others.

    `number` is its last submission, to the queue of `timeline`.
    """

    def __init__(self, device: DeviceCore, buffer: TransferMemory) -> None:
        assert buffer.mapped is not None
        self.buffer, self.bytes = buffer, buffer.mapped
        self.number, self.timeline = 0, device.timeline
        self.commands = CopyCommands(device)


def _key(
    source: tuple[TransferMemory, int], target: tuple[TransferMemory, int], nbytes: int
) -> tuple[int, ...]:
    """Return what tells a copy from others."""
    return source[0].serial, source[1], target[0].serial, target[1], nbytes


class CopyCommands:
    """Commands that copy between two buffers; they are recorded where a copy differs from the last one."""

    def __init__(self, device: DeviceCore) -> None:
        self._device, self._commands = device, Commands(device, "a transfer")
        self._recorded: tuple[int, ...] = ()

    def submit(
        self, source: tuple[TransferMemory, int], target: tuple[TransferMemory, int], nbytes: int
    ) -> int:
        """Submit a copy to the main queue; returns the number of the submission.

        The recording does not keep the buffers alive, unless CUDA shares one of them.
        """
        commands, functions = self._commands, self._device.functions
        one, other = buffers = source[0], target[0]
        shared = one.shared is not None or other.shared is not None
        key = _key(source, target, nbytes)
        with self._device.lock:
            if self._recorded != key:
                self._recorded = ()
                commands.use(buffers if shared else ())
                region = vk.new("VkBufferCopy", srcOffset=source[1], dstOffset=target[1], size=nbytes)
                with commands.record() as handle:
                    barrier_between(functions, handle, SHADER, TRANSFER)
                    functions.vkCmdCopyBuffer(handle, source[0].handle, target[0].handle, 1, region)
                    commands.end(shader_only=False, ordered=True)
                self._recorded = key
            number = commands.submit(buffers, now=True)
        if shared or one.references or other.references:
            self._device.wait(number, None)
        return number

    def close(self) -> None:
        """Free the commands once nothing of them is in flight."""
        self._commands.close()


class Transfers:
    """The transfers of one device; `make` returns a buffer of the host's memory."""

    def __init__(self, device: DeviceCore, make: Callable[[int], TransferMemory]) -> None:
        self._device, self._make = device, make
        self._copies: OrderedDict[tuple[int, ...], CopyCommands] = OrderedDict()
        self._idle: SimpleQueue[_Staging] = SimpleQueue()
        self._made = 0
        self._lock = device.lock
        # Created here and not by the first thread that uses it: there must be only one.
        self._queue = TransferQueue(device) if device.transfer_family is not None else None

    def upload(self, data: Bytes, target: TransferMemory, offset: int) -> None:
        """Copy bytes into a buffer. The bytes have been read when this returns; the device may still copy."""
        # Who views the target's memory does not wait for vkgroup, so the copy is waited for, in order.
        beside = data.size >= SMALLEST_BESIDE and not target.references
        after = self._beside(target) if beside else None
        if data.size <= PIECE_BYTES:
            self._upload(data, target, offset, after, alone=True)
            return
        piece = _piece(data.size)
        starts = range(0, data.size, piece)
        in_threads(
            lambda at: self._upload(data[at : at + piece], target, offset + at, after, alone=False),
            starts,
            executor(),
        )

    def download(self, source: TransferMemory, offset: int, out: Bytes) -> None:
        """Copy bytes out of a buffer, after the work that uses it and was submitted before."""
        after = self._beside(source)
        if out.size <= min(PIECE_BYTES, LARGEST_ALONE):
            self._download(source, offset, out, after)
        else:
            self._download_pieces(source, offset, out, after)

    def copy_alone(
        self, source: tuple[TransferMemory, int], target: tuple[TransferMemory, int], nbytes: int
    ) -> None:
        """Copy between two buffers, each with an offset, and wait for it."""
        after = self._beside(source[0], target[0])
        if after is not None:
            number, timeline = self._copy_beside(source, target, nbytes, after)
        else:
            with self._lock:  # until it is submitted, nobody may close it
                number = self._kept(source, target, nbytes).submit(source, target, nbytes)
            timeline = self._device.timeline
        self._device.wait(number, TRANSFER_TIMEOUT, timeline=timeline)

    def _kept(
        self, source: tuple[TransferMemory, int], target: tuple[TransferMemory, int], nbytes: int
    ) -> CopyCommands:
        """Return the commands of an earlier copy like this one, or new ones."""
        key = _key(source, target, nbytes)
        commands = self._copies.get(key)
        if commands is None:
            commands = self._copies[key] = CopyCommands(self._device)
            if len(self._copies) > _MOST_COPIES:
                self._copies.popitem(last=False)[1].close()
        self._copies.move_to_end(key)
        return commands

    def _beside(self, *buffers: TransferMemory) -> int | None:
        """Return the submission after which a copy can begin, if the main queue has work after it.

        None if the main queue has no such work or is the only one, or for memory that CUDA shares, which
        belongs to the main queue's family.
        """
        device = self._device
        if self._queue is None or any(buffer.shared is not None for buffer in buffers):
            return None
        after, submitted = max(buffer.used for buffer in buffers), device.timeline.submitted
        return None if after == submitted or device.finished(submitted) else after

    def _copy_beside(
        self, source: tuple[TransferMemory, int], target: tuple[TransferMemory, int], nbytes: int, after: int
    ) -> tuple[int, Timeline]:
        """Submit a copy to the transfer queue; returns its number and the timeline that counts it."""
        assert self._queue is not None
        return self._queue.copy(source, target, nbytes, after), self._queue.timeline

    def _copy(
        self,
        staging: _Staging,
        source: tuple[TransferMemory, int],
        target: tuple[TransferMemory, int],
        nbytes: int,
        after: int | None,
    ) -> None:
        """Submit a copy of a staging buffer: after submission `after`, or after all if that is None."""
        try:
            if after is None:
                number, timeline = staging.commands.submit(source, target, nbytes), self._device.timeline
            else:
                number, timeline = self._copy_beside(source, target, nbytes, after)
            staging.number, staging.timeline = number, timeline
        except BaseException:  # it may be in flight: Ctrl-C can arrive after the submission
            staging.number, staging.timeline = staging.buffer.used, self._device.timeline
            raise

    def _upload(
        self, data: Bytes, target: TransferMemory, offset: int, after: int | None, *, alone: bool
    ) -> None:
        staging = self._take()
        try:
            (host_copy if alone else np.copyto)(staging.bytes[: data.size], data)
            self._copy(staging, (staging.buffer, 0), (target, offset), data.size, after)
        finally:
            self._idle.put(staging)

    def _download(self, source: TransferMemory, offset: int, out: Bytes, after: int | None) -> None:
        staging = self._take()
        try:
            self._copy(staging, (source, offset), (staging.buffer, 0), out.size, after)
            self._wait(staging, poll=True)
            out[...] = staging.bytes[: out.size]
        finally:
            self._idle.put(staging)

    def _download_pieces(self, source: TransferMemory, offset: int, out: Bytes, after: int | None) -> None:
        """Copy in pieces: this thread waits for the device, and others copy out of the staging buffers."""
        own, ahead = list[_Staging](), deque[tuple[_Staging, Bytes]]()
        copies = deque[tuple[Future[None], _Staging]]()

        def pass_on() -> None:
            staging, part = ahead.popleft()
            self._wait(staging, poll=False)
            copies.append((copiers().submit(np.copyto, part, staging.bytes[: part.size]), staging))

        def take() -> _Staging:
            # Threads that wait for others' buffers while they have some could wait for each other.
            staging = None if own else self._take()
            if 0 < len(own) < _MOST_OWN:
                staging = self._take_within(0)
            if staging is not None:
                own.append(staging)
                return staging
            if not copies:
                pass_on()
            copy, staging = copies[0]
            copy.result()
            copies.popleft()
            return staging

        piece = _downloaded_piece(out.size)
        try:
            for at in range(0, out.size, piece):
                if len(ahead) == _AHEAD:
                    pass_on()
                staging, part = take(), out[at : at + piece]
                ahead.append((staging, part))
                self._copy(staging, (source, offset + at), (staging.buffer, 0), part.size, after)
            while ahead:
                pass_on()
            for copy, _ in copies:
                copy.result()
        finally:
            try:
                # They would otherwise write to the array afterwards.
                wait([copy for copy, _ in copies])
            finally:
                for staging in own:
                    self._idle.put(staging)

    def _wait(self, staging: _Staging, *, poll: bool) -> None:
        self._device.wait(staging.number, TRANSFER_TIMEOUT, poll=poll, timeline=staging.timeline)

    def destroy(self) -> None:
        """Destroy the queue's objects; nothing is in flight."""
        if self._queue is not None:
            self._queue.destroy()

    def trim(self) -> None:
        """Free the staging buffers that are not in use, and kept commands; later transfers make new ones."""
        with self._lock:
            while self._copies:
                self._copies.popitem()[1].close()
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
        while (staging := self._take_within(0.1)) is None:  # all are in use, or `trim` has freed them
            pass
        return staging

    def _take_within(self, seconds: float) -> _Staging | None:
        """Return a staging buffer as `_take`; None if there is none within some seconds."""
        with self._lock:
            new = self._made < STAGING_BUFFERS and self._idle.empty()
            self._made += new
        if new:
            return self._new()
        try:
            staging = self._idle.get(timeout=seconds) if seconds else self._idle.get_nowait()
        except Empty:
            return None
        try:
            self._wait(staging, poll=False)
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
        self._buffers: dict[int, ref[TransferMemory]] = {}

    def add(self, start: int, buffer: TransferMemory) -> None:
        """Store the address of a mapped buffer."""
        insort(self._starts, start)
        self._buffers[start] = ref(buffer)

    def remove(self, start: int) -> None:
        """Forget an address."""
        if self._buffers.pop(start, None) is not None:
            self._starts.remove(start)

    def find(self, data: Bytes) -> tuple[TransferMemory, int] | None:
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


def _piece(nbytes: int) -> int:
    """Return the size of the pieces of a transfer of more than one: at least one for each thread."""
    each = -(-nbytes // thread_count())
    return min(PIECE_BYTES, -(-each // 4096) * 4096)


def _downloaded_piece(nbytes: int) -> int:
    """Return the size of the pieces of a download: between 1 and 8 MiB, of which 4 or more in flight."""
    size = min(PIECE_BYTES, 8 << 20, max(min(nbytes // 4, 4 << 20), nbytes // 16))
    return -(-size // 4096) * 4096
