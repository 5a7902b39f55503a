"""Submissions of a device in their order: which have finished, and what must wait for them.

Each submission increases one timeline semaphore when it finishes (Vulkan 1.4, 7.4 "Semaphores"). Its value is
the number of the submission, so one number tells when a buffer was used last, or when an object may be
destroyed.

A GPU accepts one call of vkQueueSubmit every 14 to 16 µs (H100, H200), however little work it has. So
submissions that follow others closely are collected, and one call passes them on.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from vkgroup.base.errors import DriverError
from vkgroup.device import vk

_POLLS = 1000  # about a millisecond
_NO_FENCE, _SUCCESS = (vk.NULL,), [0]
_ALL_COMMANDS = vk.ffi.integer_const("VK_PIPELINE_STAGE_ALL_COMMANDS_BIT")
_LONGEST_WAIT_NS = 200_000_000
"""One uninterrupted wait; between two of them Python can act on signals such as Ctrl-C."""

_MOST_IN_FLIGHT = 4096
"""Submissions that may be in flight; a further one waits until half of them have finished."""

_MOST_COLLECTED = 16
"""Submissions that one call of the driver passes on; more save less than 1 µs each (H200)."""

_LONGEST_COLLECTION = 100e-6
"""Seconds after which a submission is passed on."""

_SLEEP = 30e-6
"""Seconds that the thread sleeps; Linux wakes it about 55 µs late."""


class _ThreadValues(threading.local):
    """What calls of one thread pass to the driver."""

    def __init__(self, semaphores: Any) -> None:
        self.count = vk.ffi.new("uint64_t *")
        self.values = vk.ffi.new("uint64_t[1]")
        self.info = vk.new(
            "VkSemaphoreWaitInfo", semaphoreCount=1, pSemaphores=semaphores, pValues=self.values
        )


class Timeline:
    """The submissions to a queue.

    `check` raises the error of a failed call. `lock` is the device's, which recording takes too: deferred
    functions may free command buffers. `core` tells whether the functions are those of Vulkan 1.2, not of
    VK_KHR_timeline_semaphore. `polls` tells whether waits begin with reads of the semaphore: work of
    microseconds ends before a wait of the system begins. A software driver works on the processor that
    reading would take.

    `submitted`, `completed`: the numbers of the last submission and of the last one known to have finished.
    Those after `_passed` are collected: the driver does not have them yet.
    `barrier`: a VkCommandBuffer that is only that, which the owner sets.
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
        self._submit, self._queues = functions.vkQueueSubmit, (queue,)
        kind = vk.new("VkSemaphoreTypeCreateInfo", semaphoreType=vk.VK_SEMAPHORE_TYPE_TIMELINE)
        self._semaphores = vk.ffi.new("VkSemaphore[1]")
        info = vk.new("VkSemaphoreCreateInfo", pNext=kind)
        check(functions.vkCreateSemaphore(device, info, vk.NULL, self._semaphores), "creating a semaphore")
        self._infos = vk.ffi.new("VkSubmitInfo[]", _MOST_COLLECTED)
        self._arrays = (self._infos,)
        self._values = vk.ffi.new("uint64_t[]", _MOST_COLLECTED)
        self._signals = vk.ffi.new("VkTimelineSemaphoreSubmitInfo[]", _MOST_COLLECTED)
        self._places = [self._filled(place) for place in range(_MOST_COLLECTED)]
        self._commands: list[Any] = [None] * _MOST_COLLECTED  # keeps the arrays of command buffers alive
        self._needs_barrier = False  # what comes next, unless it is dispatches alone
        self.barrier: Any = None
        self._waits: Any = None  # keeps what the first submission waits for alive
        self._counts = [0] * _MOST_COLLECTED
        self._collected, self._passed, self._since = 0, 0, 0.0
        self._thread: threading.Thread | None = None
        self._wakes: SimpleQueue[None] = SimpleQueue()  # accepts more than it needs to
        self._awake = self._stopped = False
        self.submitted = self.completed = self.interrupted = 0
        self._local = _ThreadValues(self._semaphores)
        self._in_flight: deque[tuple[int, str]] = deque()
        self._deferred: deque[tuple[int, Callable[[], None]]] = deque()

    def beside(self, queue: Any) -> Timeline:
        """Return the timeline of another queue of the device."""
        core, polls = self._core, self._polls
        return Timeline(self._functions, self._device, queue, self._check, self.lock, core=core, polls=polls)

    def _filled(self, place: int) -> Any:
        """Return a place of the collection, with what all submissions there have in common."""
        signal, info = self._signals[place], self._infos[place]
        signal.sType = vk.VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO
        signal.signalSemaphoreValueCount, signal.pSignalSemaphoreValues = 1, self._values + place
        info.sType, info.pNext = vk.VK_STRUCTURE_TYPE_SUBMIT_INFO, self._signals + place
        info.signalSemaphoreCount, info.pSignalSemaphores = 1, self._semaphores
        return info

    def submit(
        self,
        commands: Any,
        count: int,
        what: str,
        shader_only: bool = False,
        *,
        now: bool = False,
        ordered: bool = False,
    ) -> int:
        """Submit an array of VkCommandBuffers, and return the number of the submission.

        They end with a `barrier`, or if `shader_only` with one between dispatches. If `ordered` they begin
        with dispatches, or with the barrier that other work needs behind dispatches.

        While the queue has work, submissions are collected. They are passed on by the first of: a wait or a
        query for one, `_MOST_COLLECTED` of them, `_LONGEST_COLLECTION` seconds. With `now` all of them are
        passed on: a wait follows. `what` names it in errors.
        """
        if self.submitted - self.completed >= _MOST_IN_FLIGHT:
            self.wait(self.submitted - _MOST_IN_FLIGHT // 2, None)
        with self.lock:
            number = self._collect(commands, count, what, shader_only, shader_only or ordered)
            if now or self._passed <= self.completed or not self._waits_for_more():
                self._pass_on(what)
        return number

    def submit_after(self, commands: Any, count: int, what: str, other: Timeline, number: int) -> int:
        """Submit as `submit`, at once, what has to wait for a submission of another queue.

        All later work of this queue waits for that, too (Vulkan 1.4, 7.4.3 "Semaphore Waiting").
        """
        other.flush(number)
        with self.lock:
            self.flush()
            value, stage = vk.ffi.new("uint64_t[]", [number]), vk.ffi.new("uint32_t[]", [_ALL_COMMANDS])
            submitted = self._collect(commands, count, what, waits=(other._semaphores, value, stage))
            self._pass_on(what)
        return submitted

    def flush(self, number: int | None = None) -> None:
        """Pass on what is collected, if `number` is one of it; None stands for all.

        Raises the driver's error. The submissions are kept then, and the next call tries again.
        """
        if self._collected and (number is None or number > self._passed):
            with self.lock:
                if self._collected:
                    self._pass_on(None)

    def _collect(
        self,
        commands: Any,
        count: int,
        what: str,
        shader_only: bool = False,
        ordered: bool = False,
        waits: Any = None,
    ) -> int:
        """Add a submission to those that are collected, and return its number."""
        if self._collected == _MOST_COLLECTED:  # the driver has refused them
            self.flush()
        if self._needs_barrier and not ordered and count:
            commands = vk.ffi.new("VkCommandBuffer[]", [self.barrier, *commands[0:count]])
            count += 1
        place, number = self._collected, self.submitted + 1
        info = self._places[place]
        info.pCommandBuffers = commands
        if count != self._counts[place]:
            info.commandBufferCount = self._counts[place] = count
        self._values[place], self._commands[place] = number, commands
        if waits is not self._waits and not place:
            self._set_waits(waits)
        # Python raises KeyboardInterrupt after calls of functions, so these happen together.
        self._collected = place + 1
        self.submitted = number
        if count:
            self._needs_barrier = shader_only
        self._in_flight.append((number, what))
        return number

    def _set_waits(self, waits: Any) -> None:
        """Let the submission at the first place wait for another queue, or for nothing."""
        signal, info = self._signals[0], self._places[0]
        signal.waitSemaphoreValueCount = info.waitSemaphoreCount = 0 if waits is None else 1
        if waits is not None:
            info.pWaitSemaphores, signal.pWaitSemaphoreValues, info.pWaitDstStageMask = waits
        self._waits = waits

    def _waits_for_more(self) -> bool:
        """Return whether what is collected need not be passed on yet; the queue seemed to have work."""
        if self._collected == 1:
            self._since = time.monotonic()
            try:
                return self.poll() < self._passed and self._wake_thread()
            except DriverError:  # the device is lost, which the next wait says
                return False
        return self._collected < _MOST_COLLECTED and time.monotonic() - self._since < _LONGEST_COLLECTION

    def _pass_on(self, newest: str | None) -> None:
        """Pass on what is collected.

        If the driver refuses it, the commands of the submission `newest` are removed, and the error raised.
        The number remains, because other threads may wait for it: an empty submission will have it.
        """
        codes, counts = list[int](), [0]
        call = map(self._submit, self._queues, counts, self._arrays, _NO_FENCE)
        # Python calls handlers of signals after calls of functions, and between these lines there are none.
        # After the driver's call they find that all was passed on, as it was. If one raises
        # KeyboardInterrupt, `extend` has stored what the driver returned.
        count, passed, number = self._collected, self._passed, self.submitted
        if not count:  # a handler has done it
            return
        try:
            counts[0] = count
            self._collected, self._passed = 0, number
            codes.extend(call)
        finally:
            if codes != _SUCCESS and not self._collected:
                self._collected, self._passed = count, passed
        if codes != _SUCCESS:
            if newest is not None:
                self._places[count - 1].commandBufferCount = self._counts[count - 1] = 0
                self._needs_barrier = self.barrier is not None
            waiting = dict.fromkeys(what for at, what in list(self._in_flight) if at > passed)
            self._check(codes[0], f"submitting {newest or ', '.join(waiting)}")

    def _wake_thread(self) -> bool:
        """Let a thread pass on what is collected, if nothing else does; False if there can be no thread."""
        if not self._awake:
            if self._thread is None or not self._thread.is_alive():
                name = "vkgroup submissions"
                thread = self._thread = threading.Thread(target=self._pass_on_later, name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # Python is ending
                    return False
            self._wakes.put(None)
            self._awake = True
        return True

    def _pass_on_later(self) -> None:
        """Pass on what is collected, at most `_LONGEST_COLLECTION` seconds later: the code of the thread."""
        while True:
            self._wakes.get()
            while True:
                time.sleep(_SLEEP)
                with self.lock:
                    if self._stopped:
                        return
                    if not self._collected:
                        self._awake = False
                        break
                    if time.monotonic() - self._since > _SLEEP / 2:
                        try:
                            self._pass_on(None)
                        except DriverError:  # which everybody who waits gets, too
                            self._awake = False
                            break

    def forget(self) -> None:
        """Drop what is collected: the driver refuses it, or it belongs to the parent of this process."""
        self._collected, self.submitted = 0, self._passed

    def poll(self) -> int:
        """Ask which submissions have finished; returns the number of the last one."""
        count = self._local.count
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
        if number > self._passed:
            self.flush()
        if poll and self._polls:
            counter, device, semaphore = self._counter, self._device, self._semaphores[0]
            count = self._local.count
            for _ in range(_POLLS):
                if code := counter(device, semaphore, count):
                    self._fail(code)
                if count[0] >= number:
                    self._advance(int(count[0]))
                    return True
        info = self._wait_info(number)
        start = time.monotonic()
        try:
            while True:
                self.flush(number)  # the driver may have refused it, or a handler may have submitted more
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
        local = self._local
        local.values[0] = number
        return local.info

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
        self._collected = 0
        self._advance(self.submitted)

    def destroy(self) -> None:
        """End the thread and destroy the semaphore; nothing is in flight."""
        with self.lock:
            self._stopped = True
            for _ in range(2):  # Ctrl-C may have led to a second thread
                self._wakes.put(None)
        self._functions.vkDestroySemaphore(self._device, self._semaphores[0], vk.NULL)

    def _advance(self, number: int) -> None:
        with self.lock:
            # A handler of a signal may come here after a call, and where a loop begins again: so nothing
            # stands between a condition and what is done because of it.
            if number > self.completed:
                self.completed = number
            while True:
                if self._in_flight and self._in_flight[0][0] <= self.completed:
                    self._in_flight.popleft()
                elif self._deferred and self._deferred[0][0] <= self.completed:
                    self._deferred.popleft()[1]()
                else:
                    return

    def _fail(self, code: int) -> None:
        """Raise the error of a lost device, with the submission that it has not finished."""
        what = self._in_flight[0][1] if self._in_flight else "work"
        self._check(code, f"waiting for {what}")
