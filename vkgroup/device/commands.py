"""Command buffers: recorded once, submitted and waited for many times."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from vkgroup.closing import Closing
from vkgroup.device import vk
from vkgroup.device.core import CommandParts, DeviceCore
from vkgroup.device.sharing import Shareable, SharedMemory, wait_for_cuda
from vkgroup.errors import DispatchTimeout, InvalidDispatch

_POLLS = 1000  # about a millisecond
_LONGEST_WAIT_NS = 200_000_000
"""One uninterrupted wait; between two of them Python can act on signals such as Ctrl-C."""

_MOST_IDLE = 32
"""Maximum number of unused command buffers that a device stores for reuse."""


def checked_timeout(timeout: Any) -> float:
    """Return a timeout in seconds; reject NaN, which would wait forever, and values that are not positive."""
    try:
        seconds = float(timeout)
    except (TypeError, ValueError):
        seconds = 0.0
    if not seconds > 0:
        raise InvalidDispatch(f"timeout must be a positive number of seconds or None; {timeout!r} was given.")
    return seconds


class Commands(Closing):
    """A command buffer with its own fence; `run` costs three calls: submit, wait, reset of the fence."""

    def __init__(self, device: DeviceCore) -> None:
        self.device = device
        self.handle: Any = None
        self._fence: Any = vk.NULL
        functions = device.functions
        self._device_handle = device.handle
        self._parts = device.idle_commands.pop() if device.idle_commands else CommandParts(device)
        self.handle = self._parts.buffers[0]
        self._fences = self._parts.fences
        self._fence = self._fences[0]
        self._submit_info = self._alone = vk.new(
            "VkSubmitInfo", commandBufferCount=1, pCommandBuffers=self._parts.buffers
        )
        self._shared: list[SharedMemory] = []
        self._submit = functions.vkQueueSubmit
        self._wait = functions.vkWaitForFences
        self._status = functions.vkGetFenceStatus
        # A software driver works on the processor that polling would take from it.
        self._polls = device.capabilities.type == "discrete_gpu"
        self._reset = functions.vkResetFences
        device.register(self)
        self._holding = True

    def share(self, buffers: Iterable[Shareable]) -> None:
        """Set the buffers of the recorded work; ownership of those shared with CUDA is transferred around it.

        Every `run` then waits for all work of CUDA, and CUDA continues after it.
        """
        # Once each: the same buffer may be bound to several slots.
        self._shared = list(dict.fromkeys(buffer.shared for buffer in buffers if buffer.shared is not None))
        if not self._shared:
            self._submit_info = self._alone
            return
        handles = [
            *(memory.acquire for memory in self._shared),
            self.handle,
            *(memory.release for memory in self._shared),
        ]
        self._submit_info = vk.new("VkSubmitInfo", commandBufferCount=len(handles), pCommandBuffers=handles)

    @contextmanager
    def record(self) -> Iterator[Any]:
        """Record again, into the yielded VkCommandBuffer."""
        functions = self.device.functions
        begin = vk.new("VkCommandBufferBeginInfo")
        self.device.check(functions.vkBeginCommandBuffer(self.handle, begin), "recording commands")
        yield self.handle
        self.device.check(functions.vkEndCommandBuffer(self.handle), "recording commands")

    def run(self, timeout: float | None) -> None:
        """Submit the recorded commands and wait until they have finished, for at most `timeout` seconds.

        Raises `InvalidDispatch` for a time that is no positive number, and `DispatchTimeout` where the work
        did not finish: it cannot be called back, so the device is lost.
        """
        device = self.device
        if timeout is not None and not (type(timeout) is float and timeout > 0):
            timeout = checked_timeout(timeout)
        with device.lock:
            if device.lost:
                device.raise_lost()
            if self._shared:
                wait_for_cuda(self._shared)
            code = self._submit(device.queue, 1, self._submit_info, self._fence)
            if code:
                device.check(code, "submitting work")
            code = self._poll() if self._polls else vk.VK_NOT_READY
            if code == vk.VK_NOT_READY:
                code = self._wait(self._device_handle, 1, self._fences, 1, _LONGEST_WAIT_NS)
            if code:
                self._wait_on(code, timeout)
            code = self._reset(self._device_handle, 1, self._fences)
            if code:
                device.check(code, "resetting a fence")
        if device.instance.messages is not None:
            device.instance.raise_validation_errors()

    def _poll(self) -> int:
        """Poll the fence for a short time, because work of microseconds ends before a wait begins."""
        status, device, fence = self._status, self._device_handle, self._fence
        code = vk.VK_NOT_READY
        for _ in range(_POLLS):
            code = status(device, fence)
            if code != vk.VK_NOT_READY:
                break
        return code

    def _wait_on(self, code: int, timeout: float | None) -> None:
        """Continue waiting after the first slice; an interrupted wait leaves work in flight."""
        device = self.device
        start = time.monotonic() - _LONGEST_WAIT_NS * 1e-9
        try:
            while code == vk.VK_TIMEOUT:
                left = float("inf") if timeout is None else timeout - (time.monotonic() - start)
                if left <= 0:
                    break
                slice_ns = int(min(_LONGEST_WAIT_NS, left * 1e9 + 1))
                code = self._wait(self._device_handle, 1, self._fences, 1, slice_ns)
        except BaseException:
            device.abandon("a wait for its work was interrupted")
            raise
        if code == vk.VK_TIMEOUT:
            device.abandon(f"its work did not finish within {timeout:g} s")
            raise DispatchTimeout(
                f"The work did not finish within {timeout:g} s on {device.capabilities.name}. It cannot be"
                " called back: open the device anew (a software driver's in a new process: its threads are"
                " still at it), and give `timeout` more seconds if the work is right.",
                "VK_TIMEOUT",
            )
        device.check(code, "waiting for work")

    def close(self) -> None:
        """Free the command buffer and its fence."""
        if self.handle is None:
            return
        handle, self.handle = self.handle, None
        device = self.device
        device.forget(self)
        if not device.usable:
            return
        if device.lost or len(device.idle_commands) >= _MOST_IDLE:
            self._parts.destroy(device)
            return
        # Reset in any state, because an error may have ended its recording.
        code = device.functions.vkResetCommandBuffer(handle, 0)
        if code:
            self._parts.destroy(device)
        else:
            device.idle_commands.append(self._parts)
