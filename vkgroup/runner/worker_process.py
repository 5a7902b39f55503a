"""Worker processes as a run sees them: start, ask, time out, kill."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Queue
from typing import Any

from vkgroup import processes
from vkgroup.errors import NoDevice
from vkgroup.processes import receive, send
from vkgroup.results.record import Result, Status
from vkgroup.runner.messages import CLOSE_SECONDS, Failure, WorkerSetup
from vkgroup.runner.retry import Work, WorkerFailure

PROGRAM = "vkgroup.runner.worker"
"""The module that every worker process runs."""

START_SECONDS = 120.0
"""Seconds that a worker may take to start and open its device."""

RESTART_DELAYS = (0.5, 2.0, 8.0, 20.0)
"""Seconds before each further attempt to start a worker; after the last the run gives up."""

FIRST_DELAYS = 2
"""Number of these attempts before any worker has opened the device."""

SECONDS_PER_CASE = 2.0
"""Seconds that each further case adds to a batch's time limit: a slow compiler is not a hang."""

KILL_SECONDS = 30.0
"""Seconds that a driver may take to release a process that is killed."""


class WorkerDied(Exception):
    """A worker process ended without an answer."""


class WorkerProcess:
    """One worker process and its pipes.

    `setup`: the first message to the worker.
    `known`: set of processes that end with the run; the process is in it while it starts, too.
    `start_seconds`: seconds that the worker may take to start and open its device.

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
    ) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        self._process = subprocess.Popen(
            processes.command(PROGRAM),
            env=processes.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # Ctrl-C in a terminal must reach the run alone, which then ends its workers.
            start_new_session=True,
        )
        if known is not None:
            known.add(self)
        assert self._process.stdin is not None
        self._requests = self._process.stdin
        self._answers: Queue[Any] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            send(self._requests, setup)
            answer = self._wait(start_seconds)
            if isinstance(answer, Failure):
                raise NoDevice(answer.message)
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

    def _wait(self, seconds: float) -> Any:
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            self.kill()
            return Failure("timeout", f"no answer in {seconds:g} s")
        if answer is None:
            raise WorkerDied(self._exit_description())
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask(self, request: object, seconds: float) -> Any:
        """Return the worker's answer; `Failure` if it takes longer, WorkerDied if it ends before."""
        try:
            send(self._requests, request)
        except OSError as error:
            raise WorkerDied(self._exit_description()) from error
        return self._wait(seconds)

    def run(self, batch: Work, seconds: float) -> list[Result] | Failure:
        """Return the results of a batch; see `ask`."""
        answer: list[Result] | Failure = self.ask(batch, seconds)
        return answer

    def _exit_description(self) -> str:
        """Return how the process ended, and the end of what it printed."""
        try:
            code = self._process.wait(timeout=KILL_SECONDS)
        except subprocess.TimeoutExpired:
            return "the process closed its pipes and does not end"
        end = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._log.seek(0)
        last = self._log.read().decode(errors="replace").strip()[-400:]
        return f"the process was {end}" + (f"; it printed: {last}" if last else "")

    def signal(self) -> None:
        """Send the process SIGKILL, without waiting."""
        self._process.kill()

    def kill(self) -> None:
        """Kill the process; one that is stuck in a driver is abandoned after `KILL_SECONDS`."""
        self.signal()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=KILL_SECONDS)
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
    `wait`: waits for so many seconds, and returns whether the worker is no longer needed.
    `known`: see `WorkerProcess`.
    """
    for delay in (*(RESTART_DELAYS if opened else RESTART_DELAYS[:FIRST_DELAYS]), None):
        try:
            return WorkerProcess(setup, known)
        except (WorkerDied, OSError, NoDevice) as error:
            fatal = isinstance(error, NoDevice) and not opened
            if fatal or delay is None or wait(delay):
                raise NoDevice(f"No worker process starts: {error}") from error
    raise AssertionError("the last turn returns or raises")


def run_batch(worker: WorkerProcess, batch: Work, seconds: float) -> list[Result] | WorkerFailure:
    """Return a batch's results, or how the worker failed."""
    try:
        answer = worker.run(batch, seconds)
    except WorkerDied as error:
        return WorkerFailure(Status.CRASH, str(error))
    if not isinstance(answer, Failure):
        return answer
    return WorkerFailure(Status.TIMEOUT if answer.kind == "timeout" else Status.CRASH, answer.message)
