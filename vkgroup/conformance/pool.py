"""Worker processes and what becomes of a batch whose worker dies, hangs or loses its device.

Each worker has a thread here that feeds it. A batch that kills its worker is split in two and tried again
in fresh workers, until the guilty case stands alone.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, Queue
from typing import Any

from vkgroup import processes
from vkgroup.conformance.messages import Failure, Setup, receive, send
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.results import Result, Status
from vkgroup.errors import NoDevice

START_SECONDS = 120.0
"""Seconds that a worker may take to start and open its device."""

STARTS = 3
"""Times that a worker is started before the run gives up."""

SECONDS_PER_CASE = 2.0
"""Seconds that each further case adds to the time of a batch: slow compilers are not hangs."""


class WorkerDied(Exception):
    """A worker ended without an answer."""


class Worker:
    """One worker process and its pipes.

    Parameters
    ----------
    setup : what it is told first.
    module : what it runs.
    """

    def __init__(self, setup: Setup, module: str = "vkgroup.conformance.worker") -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        self._process = subprocess.Popen(
            processes.command(module),
            env=processes.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self._process.stdin is not None
        self._requests = self._process.stdin
        self._answers: Queue[Any] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            send(self._requests, setup)
            answer = self._wait(START_SECONDS)
            if isinstance(answer, Failure):
                raise NoDevice(answer.message)
        except BaseException:
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
            raise WorkerDied(self._epitaph())
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask(self, request: object, seconds: float) -> Any:
        """Return the worker's answer; `Failure` if it takes longer, WorkerDied if it ends before."""
        try:
            send(self._requests, request)
        except OSError as error:
            raise WorkerDied(self._epitaph()) from error
        return self._wait(seconds)

    def run(self, batch: Batch, seconds: float) -> list[Result] | Failure:
        """Let the worker judge a batch; see `ask`."""
        answer: list[Result] | Failure = self.ask(batch, seconds)
        return answer

    def _epitaph(self) -> str:
        """Say how the process ended, and the last it printed."""
        code = self._process.wait()
        how = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._log.seek(0)
        last = self._log.read().decode(errors="replace").strip()[-400:]
        return f"the process was {how}" + (f"; it printed: {last}" if last else "")

    def kill(self) -> None:
        """End the process, however it is."""
        self._process.kill()
        self._process.wait()
        self.close()

    def close(self) -> None:
        """Let the process end, and wait for that."""
        with suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Pool:
    """Runs batches in worker processes and hands each result to a callback, in one thread.

    Parameters
    ----------
    setup : what each worker is told.
    jobs : worker processes.
    """

    def __init__(self, setup: Setup, jobs: int) -> None:
        self._setup = setup
        self._jobs = jobs
        self._batches: deque[Batch] = deque()
        self._results: Queue[list[Result] | BaseException | None] = Queue()
        self._lock = threading.Condition()
        self._workers: set[Worker] = set()
        self._busy = 0
        self._stopped = False

    def run(self, batches: Iterable[Batch], on_results: Callable[[list[Result]], None]) -> None:
        """Judge all batches; `on_results` is called in this thread as they come.

        Raises
        ------
        NoDevice
            A worker could not open the device.
        """
        self._batches.extend(batches)
        threads = [
            threading.Thread(target=self._feed, daemon=True)
            for _ in range(min(self._jobs, len(self._batches)))
        ]
        for thread in threads:
            thread.start()
        alive = len(threads)
        try:
            while alive:
                item = self._results.get()
                if item is None:
                    alive -= 1
                elif isinstance(item, BaseException):
                    raise item
                else:
                    on_results(item)
        finally:
            with self._lock:
                self._stopped = True
                self._batches.clear()
                self._lock.notify_all()
            if alive:
                for worker in list(self._workers):
                    worker.kill()

    def _next(self) -> Batch | None:
        """Take a batch; wait while another worker may still split one; None when all are done."""
        with self._lock:
            while not self._batches and self._busy and not self._stopped:
                self._lock.wait()
            if not self._batches or self._stopped:
                return None
            self._busy += 1
            return self._batches.popleft()

    def _done(self, again: list[Batch]) -> None:
        with self._lock:
            self._busy -= 1
            self._batches.extendleft(reversed(again))
            self._lock.notify_all()

    def _start(self) -> Worker:
        """Start a worker; one that dies on the way is given another chance, for others may have killed it."""
        for left in reversed(range(STARTS)):
            try:
                worker = Worker(self._setup)
            except (WorkerDied, OSError) as error:
                if not left:
                    raise NoDevice(f"No worker process starts: {error}") from error
            else:
                self._workers.add(worker)
                return worker
        raise AssertionError("STARTS is positive")

    def _feed(self) -> None:
        """Feed one worker until nothing is left, starting another when it dies."""
        worker: Worker | None = None
        try:
            while (batch := self._next()) is not None:
                if worker is None:
                    worker = self._start()
                if not self._one(worker, batch):
                    self._workers.discard(worker)
                    worker = None
        except BaseException as error:
            self._done([])
            self._results.put(error)
        finally:
            if worker is not None:
                worker.close()
            self._results.put(None)

    def _one(self, worker: Worker, batch: Batch) -> bool:
        """Run one batch; False if the worker is gone after it."""
        seconds = self._setup.timeout + SECONDS_PER_CASE * len(batch)
        try:
            answer = worker.run(batch, seconds)
        except WorkerDied as error:
            self._blame(batch, Status.CRASH, str(error))
            return False
        if isinstance(answer, Failure):
            worker.kill()
            status = Status.TIMEOUT if answer.kind == "timeout" else Status.CRASH
            self._blame(batch, status, answer.message)
            return False
        self._results.put(answer)
        self._done([])
        return True

    def _blame(self, batch: Batch, status: Status, detail: str) -> None:
        """Record the verdict on a case that stands alone; split a batch of several."""
        if len(batch) == 1:
            self._results.put([Result(batch.cases[0].name, status, detail=detail)])
            self._done([])
            return
        self._done(batch.halves())
