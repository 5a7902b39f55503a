"""Worker processes as a run sees them: start, ask, time out, kill."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from vkgroup.base import processes
from vkgroup.base.errors import InternalError, NoDevice
from vkgroup.base.processes import peak_memory, receive, send
from vkgroup.workers import spare
from vkgroup.workers.driver_output import excerpt
from vkgroup.workers.messages import CLOSE_SECONDS, NO_ANSWER, Failure, WorkerSetup

START_SECONDS = 120.0
"""Seconds that a worker may take to start and open its device."""

RESTART_DELAYS = (0.5, 2.0, 8.0, 20.0)
"""Seconds before each further attempt to start a worker; after the last the run gives up."""

FIRST_DELAYS = 2
"""Number of these attempts before any worker has opened the device."""

SECONDS_PER_CASE = 2.0
"""Seconds that each further case adds to a batch's time limit: a slow compiler is not a hang."""

KILL_SECONDS = 30.0
"""Seconds that a driver may take to release a process that is killed, before another one uses the device."""

EXTERNAL = (
    "no error of a driver raises this signal: the system sends SIGKILL when the host's memory is exhausted; "
    "use fewer workers (--jobs)"
)


class WorkerDied(Exception):
    """A worker process ended without an answer.

    `is_internal`: whether vkgroup or the host ended it, so that it says nothing about the device.
    """

    def __init__(self, message: str, *, is_internal: bool = False) -> None:
        super().__init__(message)
        self.is_internal = is_internal


STACK_SECONDS = 2.0
"""Seconds that a worker may take to write its stack."""

_PACKAGE = re.escape(str(Path(__file__).parents[1]))
_FRAME = re.compile(
    rf'^  File "(?P<file>{_PACKAGE}/(?P<folder>\w+)(?:/.*)?\.py)", line (?P<line>\d+) in (\S+)'
)

_MAIN = f"{spare.PROGRAM.replace('.', '/')}.py"
"""The file of a worker's main thread, from the folder on that has vkgroup."""

_OF_DEVICES = ("amd", "device", "dispatch", "reference")
"""Folders of vkgroup whose code calls drivers, or is a device."""


def _is_complete(stack: str) -> bool:
    """Return whether a stack has the frames of the worker's main thread."""
    return any(_is_main(thread) for thread in stack.split("\n\n"))


def _is_main(thread: str) -> bool:
    return _MAIN in thread and " in serve\n" in thread


def own_code(stack: str) -> str:
    """Return the innermost frame of vkgroup in a worker's stack; "" if it belongs to the device's work.

    `stack`: as `faulthandler` writes it. Without frames of the worker's main thread, the result is "".
    """
    thread = next((thread for thread in stack.split("\n\n") if _is_main(thread)), "")
    frame = next(filter(None, map(_FRAME.match, thread.splitlines())), None)
    if frame is None or frame["folder"] in _OF_DEVICES:
        return ""
    return f"{frame['file']}:{frame['line']}"


_CLOSED = (OSError, ValueError)
"""Errors of writing to a process that has ended: a broken pipe, or a pipe that is closed already."""


class WorkerProcess:
    """One worker process and its pipes.

    `setup`: the first message to the worker.
    `known`: set of processes that end with the run; the process is in it while it starts, too.
    `start_seconds`: seconds that the worker may take to start and open its device.
    `kill_seconds`: seconds to wait for the end of the process after it was killed.

    Attributes
    ----------
    peak_memory : the largest resident memory of the process in bytes, after its last batch.

    Raises
    ------
    NoDevice
        The worker could not open its device.
    WorkerDied
        The process ended while it started.
    """

    def __init__(
        self,
        setup: WorkerSetup,
        known: set[WorkerProcess] | None = None,
        *,
        start_seconds: float = START_SECONDS,
        kill_seconds: float = KILL_SECONDS,
    ) -> None:
        self._kill_seconds = kill_seconds
        # A spare process has the host's C library.
        taken = None if setup.device.own_process else spare.take()
        self._process, self._log = taken or spare.spawn(device=setup.device)
        self.peak_memory = 0
        if known is not None:
            known.add(self)
        assert self._process.stdin is not None
        self._requests = self._process.stdin
        self._answers: Queue[Any] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            try:
                send(self._requests, setup)
            except _CLOSED as error:  # the process has ended already
                raise self._death() from error
            answer = self._wait(start_seconds)
            if isinstance(answer, Failure):
                raise InternalError(answer.message) if answer.is_internal else NoDevice(answer.message)
        except BaseException:
            if known is not None:
                known.discard(self)
            self.kill()
            raise

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                self._answers.put(receive(self._process.stdout))
        except EOFError:
            self._answers.put(None)
        except Exception as error:
            self._answers.put(error)

    def _wait(self, seconds: float | None, *, started: bool = False) -> Any:
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            frame = self._own_code() if started else ""
            try:
                # It may have come while the worker was asked where it is.
                answer = self._answers.get_nowait()
            except Empty:
                self.kill()
                if frame:
                    return Failure("busy", f"vkgroup itself did not end within {seconds:g} s, in {frame}")
                return Failure("timeout", f"{NO_ANSWER} {seconds:g} s")
        if answer is None:
            raise self._death()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask(self, request: object, seconds: float | None) -> Any:
        """Return the worker's answer; `Failure` if it takes longer, WorkerDied if it ends before.

        `seconds`: None waits without limit.
        """
        try:
            send(self._requests, request)
        except _CLOSED as error:
            raise self._death() from error
        answer = self._wait(seconds, started=True)
        self._update_peak()
        return answer

    def _update_peak(self) -> None:
        """Read the peak memory while the process exists; that of a crash is the one before its batch."""
        self.peak_memory = max(self.peak_memory, peak_memory(self._process.pid))

    def _own_code(self) -> str:
        """Return the place in vkgroup's own code where the worker is; "" if it is in the device's work.

        A worker that does not answer is stuck in a driver.
        """
        start = self._log.seek(0, os.SEEK_END)
        self._process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + STACK_SECONDS
        text = ""
        while not _is_complete(text) and time.monotonic() < end:
            time.sleep(0.02)
            # The worker writes at the end of the file, whose position this process shares.
            text = os.pread(self._log.fileno(), 1 << 20, start).decode(errors="replace")
        return own_code(text)

    def _death(self) -> WorkerDied:
        """Return how the process ended, and the end of what it printed."""
        try:
            code = self._process.wait(timeout=KILL_SECONDS)
        except subprocess.TimeoutExpired:
            return WorkerDied("the process closed its pipes and does not end")
        end = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._log.seek(0)
        last = excerpt(self._log.read().decode(errors="replace"))
        message = f"the process was {end}" + (f"; it printed: {last}" if last else "")
        external = -code in processes.EXTERNAL_SIGNALS
        return WorkerDied(
            f"{message}; {EXTERNAL}" if external else message,
            is_internal=external or code == processes.INTERNAL_ERROR,
        )

    def signal(self) -> None:
        """Send the process SIGKILL, without waiting."""
        self._update_peak()
        self._process.kill()

    def kill(self) -> None:
        """Kill the process; one that is stuck in a driver is abandoned after `kill_seconds`."""
        self.signal()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=self._kill_seconds)
        self.dismiss()

    def dismiss(self) -> None:
        """Let the process end, without waiting."""
        with suppress(OSError):
            self._requests.close()

    def close(self) -> None:
        """Let the process end, and wait for it."""
        self.dismiss()
        try:
            self._process.wait(timeout=CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()


def start_worker(
    setup: WorkerSetup,
    opened: bool,
    wait: Callable[[float], bool],
    known: set[WorkerProcess] | None = None,
) -> WorkerProcess:
    """Start a worker, with further attempts where the start fails.

    Another worker's crash may have ended the process. A driver that recovers from a hang may refuse a device
    for seconds, even one that a worker had opened before.

    `opened`: whether a worker has opened the device before.
    `wait`: waits for the given number of seconds, and returns whether the worker is no longer needed.
    `known`: see `WorkerProcess`.
    """
    for delay in (*(RESTART_DELAYS if opened else RESTART_DELAYS[:FIRST_DELAYS]), None):
        try:
            return WorkerProcess(setup, known)
        except (WorkerDied, OSError, NoDevice) as error:
            fatal = isinstance(error, NoDevice) and not opened
            if fatal or delay is None or wait(delay):
                ours = isinstance(error, OSError) or (isinstance(error, WorkerDied) and error.is_internal)
                kind = InternalError if ours else NoDevice
                raise kind(f"No worker process starts: {error}") from error
    raise AssertionError("the last turn returns or raises")
