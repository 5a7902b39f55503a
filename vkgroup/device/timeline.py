"""Submissions of a device in their order: which have finished, and what must wait for them.

Each submission increases one timeline semaphore when it finishes (Vulkan 1.4, 7.4 "Semaphores"). Its value is
the number of the submission, so one number tells when a buffer was used last, or when an object may be
destroyed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from vkgroup.base.errors import DriverError
from vkgroup.device import vk

_POLLS = 1000  # about a millisecond
_ONE, _NO_FENCE, _SUCCESS = (1,), (vk.NULL,), [0]
_ALL_COMMANDS = vk.ffi.integer_const("VK_PIPELINE_STAGE_ALL_COMMANDS_BIT")
_LONGEST_WAIT_NS = 200_000_000
"""One uninterrupted wait; between two of them Python can act on signals such as Ctrl-C."""

_MOST_IN_FLIGHT = 4096
"""Submissions that may be in flight; a further one waits until half of them have finished."""


class Timeline:
    """The submissions to a queue.

    `check` raises the error of a failed call. `lock` is the device's, which recording takes too: deferred
    functions may free command buffers. `core` tells whether the functions are those of Vulkan 1.2, not of
    VK_KHR_timeline_semaphore. `polls` tells whether waits begin with reads of the semaphore: work of
    microseconds ends before a wait of the system begins. A software driver works on the processor that
    reading would take.

    `submitted`, `completed`: the numbers of the last submission and of the last one known to have finished.
    `interrupted`: the last submission for which a wait was interrupted; 0 without one.
    """

    def __init__(
        self,
        functions: vk.Functions,
        device: Any,
        queue: Any,
        check: Callable[[int, str], None],
        lock: Any,
        *,
        core: bool,
        polls: bool,
    ) -> None:
        suffix = "" if core else "KHR"
        self._functions, self._device, self._core, self._polls = functions, device, core, polls
        self._check, self.lock = check, lock
        self._counter = getattr(functions, f"vkGetSemaphoreCounterValue{suffix}")
        self._wait = getattr(functions, f"vkWaitSemaphores{suffix}")
        self._submit = functions.vkQueueSubmit
        self._queues, self._codes = (queue,), list[int]()
        kind = vk.new("VkSemaphoreTypeCreateInfo", semaphoreType=vk.VK_SEMAPHORE_TYPE_TIMELINE)
        self._semaphores = vk.ffi.new("VkSemaphore[1]")
        info = vk.new("VkSemaphoreCreateInfo", pNext=kind)
        check(functions.vkCreateSemaphore(device, info, vk.NULL, self._semaphores), "creating a semaphore")
        self._next = vk.ffi.new("uint64_t[1]")
        self._signal = vk.new(
            "VkTimelineSemaphoreSubmitInfo", signalSemaphoreValueCount=1, pSignalSemaphoreValues=self._next
        )
        self.submitted = self.completed = self.interrupted = 0
        self._local = threading.local()
        self._in_flight: deque[tuple[int, str]] = deque()
        self._deferred: deque[tuple[int, Callable[[], None]]] = deque()

    def beside(self, queue: Any) -> Timeline:
        """Return the timeline of another queue of the device."""
        core, polls = self._core, self._polls
        return Timeline(self._functions, self._device, queue, self._check, self.lock, core=core, polls=polls)

    def submit_info(self, commands: Any, count: int, after: tuple[Timeline, int] | None = None) -> Any:
        """Return the VkSubmitInfo for an array of VkCommandBuffers, to be submitted any number of times.

        They and all later work of the queue wait for `after`, a submission to another queue (Vulkan 1.4,
        7.4.3 "Semaphore Waiting").
        """
        signal, waits = self._signal, {}
        if after is not None:
            signal = vk.new(
                "VkTimelineSemaphoreSubmitInfo",
                waitSemaphoreValueCount=1,
                pWaitSemaphoreValues=[after[1]],
                signalSemaphoreValueCount=1,
                pSignalSemaphoreValues=self._next,
            )
            waits = {
                "waitSemaphoreCount": 1,
                "pWaitSemaphores": after[0]._semaphores,
                "pWaitDstStageMask": [_ALL_COMMANDS],
            }
        return vk.new(
            "VkSubmitInfo",
            **waits,
            pNext=signal,
            commandBufferCount=count,
            pCommandBuffers=commands,
            signalSemaphoreCount=1,
            pSignalSemaphores=self._semaphores,
        )

    def submit(self, info: Any, what: str) -> int:
        """Submit and return the number of the submission; `what` names it in errors."""
        if self.submitted - self.completed >= _MOST_IN_FLIGHT:
            self.wait(self.submitted - _MOST_IN_FLIGHT // 2, None)
        with self.lock:
            number = self.submitted + 1
            self._next[0] = number
            self._codes.clear()
            try:
                # Python may raise KeyboardInterrupt after a call, and discard what it returned. `extend` has
                # stored it before that.
                self._codes.extend(map(self._submit, self._queues, _ONE, (info,), _NO_FENCE))
            finally:
                if self._codes == _SUCCESS:
                    self.submitted = number
                    self._in_flight.append((number, what))
            if self._codes != _SUCCESS:
                self._check(self._codes[0], f"submitting {what}")
        return number

    def poll(self) -> int:
        """Ask which submissions have finished; returns the number of the last one."""
        count = self._thread().count
        code = self._counter(self._device, self._semaphores[0], count)
        if code:
            self._fail(code)
        if count[0] > self.completed:
            self._advance(int(count[0]))
        return self.completed

    def wait(self, number: int, timeout: float | None, *, poll: bool = True) -> bool:
        """Wait until a submission has finished; False if that takes longer than `timeout` seconds.

        Without `poll` the wait never begins with reads of the semaphore, which hold Python's lock.
        An interrupted wait leaves the work in flight; another wait can follow.

        Raises
        ------
        DeviceLost
            The device was lost; the error names the submission that had not finished.
        """
        if number <= self.completed:
            return True
        if poll and self._polls:
            for _ in range(_POLLS):
                if self.poll() >= number:
                    return True
        info = self._wait_info(number)
        start = time.monotonic()
        try:
            while True:
                left = float("inf") if timeout is None else timeout - (time.monotonic() - start)
                if left <= 0:
                    return self.poll() >= number
                code = self._wait(self._device, info, int(min(_LONGEST_WAIT_NS, left * 1e9 + 1)))
                if code == vk.VK_SUCCESS:
                    self._advance(number)
                    return True
                if code != vk.VK_TIMEOUT:
                    self._fail(code)
        except KeyboardInterrupt:
            self.interrupted = number
            raise

    def _wait_info(self, number: int) -> Any:
        """Return the VkSemaphoreWaitInfo of this thread, for a submission."""
        local = self._thread()
        local.values[0] = number
        return local.info

    def _thread(self) -> Any:
        """Return what calls of this thread pass to the driver."""
        local = self._local
        if not hasattr(local, "info"):
            local.count = vk.ffi.new("uint64_t *")
            local.values = vk.ffi.new("uint64_t[1]")
            local.info = vk.new(
                "VkSemaphoreWaitInfo", semaphoreCount=1, pSemaphores=self._semaphores, pValues=local.values
            )
        return local

    def after(self, function: Callable[[], None]) -> None:
        """Call a function as soon as everything that was submitted so far is known to have finished.

        It is called at once if that is so, and otherwise during a later wait.
        """
        try:
            finished = self.submitted == self.completed or self.poll() == self.submitted
        except DriverError:  # the device is lost; `close` of the device frees what it can
            finished = False
        if finished:
            function()
        else:
            self._deferred.append((self.submitted, function))

    @property
    def has_deferred(self) -> bool:
        """Whether functions wait for work in flight."""
        return bool(self._deferred)

    def finish(self) -> None:
        """Call all deferred functions: the device is idle or lost."""
        self._advance(self.submitted)

    def destroy(self) -> None:
        """Destroy the semaphore; nothing is in flight."""
        self._functions.vkDestroySemaphore(self._device, self._semaphores[0], vk.NULL)

    def _advance(self, number: int) -> None:
        with self.lock:
            self.completed = max(self.completed, number)
            while self._in_flight and self._in_flight[0][0] <= self.completed:
                self._in_flight.popleft()
            while self._deferred and self._deferred[0][0] <= self.completed:
                self._deferred.popleft()[1]()

    def _fail(self, code: int) -> None:
        """Raise the error of a lost device, with the submission that it has not finished."""
        what = self._in_flight[0][1] if self._in_flight else "work"
        self._check(code, f"waiting for {what}")
