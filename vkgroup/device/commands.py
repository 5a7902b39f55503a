"""Command buffers: recorded once, submitted many times, waited for or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from vkgroup.base.lifetime import Closeable
from vkgroup.device import vk
from vkgroup.device.barriers import SHADER, barrier, barrier_between
from vkgroup.device.core import DeviceCore, checked_timeout
from vkgroup.device.sharing import Shareable, SharedMemory, wait_for_cuda

_MOST_IDLE = 64
"""Maximum number of unused command buffers that a device stores for reuse."""


_BEGIN = vk.new("VkCommandBufferBeginInfo", flags=vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT)


class Used(Shareable, Protocol):
    """A buffer that commands use.

    `used`: the number of the last submission that uses it.
    `references`: how many arrays of other libraries view its memory.
    """

    used: int
    references: int


class Commands(Closeable):
    """A command buffer, which can be in flight several times.

    `what` names the recorded work in errors. `number` is that of the last submission. `shader_only`: the
    recorded work is dispatches alone, and ends with a barrier between dispatches. `ordered`: it needs no
    `barrier` behind such work, because it begins with dispatches or with a barrier.
    """

    def __init__(self, device: DeviceCore, what: str = "work") -> None:
        self.device, self.what = device, what
        self.number = 0
        self.shader_only = self.ordered = False
        self._buffers: tuple[Used, ...] = ()
        self._shared: list[SharedMemory] = []
        self._take()
        device.register(self)
        self._holding = True

    @property
    def handle(self) -> Any:
        """The VkCommandBuffer; None when closed."""
        return None if self._array is None else self._array[0]

    def _take(self) -> None:
        """Take an unused command buffer of the device, or allocate one."""
        device = self.device
        try:
            self._array: Any = device.idle_commands.pop()
        except IndexError:
            self._array = vk.ffi.new("VkCommandBuffer[1]")
            info = vk.new(
                "VkCommandBufferAllocateInfo", commandPool=device.command_pool, commandBufferCount=1
            )
            with device.lock:
                code = device.functions.vkAllocateCommandBuffers(device.handle, info, self._array)
            device.check(code, "allocating a command buffer")
        self._handles, self._count = self._array, 1

    def use(self, buffers: Iterable[Used]) -> None:
        """Set the buffers that the recorded work uses.

        Ownership of those shared with CUDA is transferred around the work: it waits for all work of CUDA, and
        CUDA continues after it.
        """
        # Once each: the same buffer may be bound to several slots.
        self._buffers = tuple(dict.fromkeys(buffers))
        self._shared = [buffer.shared for buffer in self._buffers if buffer.shared is not None]
        self._set_handles()

    def _set_handles(self) -> None:
        handles = [
            *(memory.acquire for memory in self._shared),
            self.handle,
            *(memory.release for memory in self._shared),
        ]
        self._handles, self._count = vk.ffi.new("VkCommandBuffer[]", handles), len(handles)

    @contextmanager
    def record(self) -> Iterator[Any]:
        """Record again, into the yielded VkCommandBuffer; what is in flight continues."""
        device, functions = self.device, self.device.functions
        with device.lock:
            if self.number > device.timeline.completed and self.number > device.timeline.poll():
                retired, self._array = self._array, None
                device.timeline.after(lambda: _store(device, retired))
                self._take()
                self._set_handles()
            device.check(functions.vkBeginCommandBuffer(self.handle, _BEGIN), "recording commands")
            yield self.handle
            device.check(functions.vkEndCommandBuffer(self.handle), "recording commands")

    def end(self, *, shader_only: bool, ordered: bool) -> None:
        """Record the barrier that later work needs, as the last command; see the class for the arguments."""
        self.shader_only, self.ordered = shader_only, ordered
        functions = self.device.functions
        if shader_only:
            barrier_between(functions, self.handle, SHADER, SHADER)
        else:
            barrier(functions, self.handle)

    def submit(self, buffers: Sequence[Used] | None = None, *, now: bool = False) -> int:
        """Submit the recorded commands, and return the number of the submission without waiting for it.

        `buffers` replace those of `use`; CUDA shares none of them. `now`: as for `Timeline.submit`.
        """
        device = self.device
        if device.lost:
            device.raise_lost()
        if self._shared:
            wait_for_cuda(self._shared)
        used = self._buffers if buffers is None else buffers
        try:
            number = self.number = device.timeline.submit(
                self._handles, self._count, self.what, self.shader_only, now=now, ordered=self.ordered
            )
            for buffer in used:
                buffer.used = number
        except BaseException:
            # It may be in flight: Ctrl-C can arrive after the submission.
            self.number = device.timeline.submitted
            for buffer in used:
                buffer.used = self.number
            raise
        return number

    def settle(self, number: int) -> None:
        """Wait for a submission whose memory other libraries access, because they do not wait for vkgroup."""
        if self._shared or any(buffer.references for buffer in self._buffers):
            self.device.wait(number, None)

    def run(self, timeout: float | None) -> None:
        """Submit the recorded commands and wait until they have finished, for at most `timeout` seconds.

        Raises
        ------
        InvalidDispatch
            The timeout is no positive number.
        DispatchTimeout
            The work did not finish: it cannot be called back, so the device is lost.
        """
        timeout = checked_timeout(timeout)
        self.finish(self.submit(now=True), timeout)

    def finish(self, number: int, timeout: float | None) -> None:
        """Wait for a submission as `run` does; the timeout was checked."""
        self.device.wait(number, timeout)
        if self.device.instance.messages is not None:
            self.device.instance.raise_validation_errors()

    def close(self) -> None:
        """Give the command buffer back once nothing of it is in flight."""
        array, self._array = self._array, None
        if array is None:
            return
        self._holding = False
        device = self.device
        device.forget(self)
        if device.usable:
            device.timeline.after(lambda: _store(device, array))


def _store(device: DeviceCore, array: Any) -> None:
    """Store a command buffer for reuse, or free it if there are many."""
    if not device.usable:
        return
    with device.lock:
        # Reset in any state, because an error may have ended its recording.
        idle = not device.lost and len(device.idle_commands) < _MOST_IDLE
        if idle and not device.functions.vkResetCommandBuffer(array[0], 0):
            device.idle_commands.append(array)
        else:
            device.functions.vkFreeCommandBuffers(device.handle, device.command_pool, 1, array)
