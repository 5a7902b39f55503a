"""A queue of batches, and a pool of worker processes on one device that takes batches from it.

A worker that crashes, hangs or loses its device costs one case.

Each worker has a thread here that feeds it. A hang or a crash on a GPU may take other workers' devices along,
so a batch in which a worker failed runs again when all others are done, in the only worker at that time. If
that worker fails as well, the batch is split until one case is left. Failures near a worker failure run again
in the same way (`vkgroup.runner.retry.Quarantine`). Batches that may hang run alone from the start.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, Queue

from vkgroup.results.record import Result, ResultStream
from vkgroup.runner.messages import WorkerSetup
from vkgroup.runner.retry import BatchResults, Quarantine, Retry, Work, WorkerFailure
from vkgroup.runner.worker_process import SECONDS_PER_CASE, WorkerProcess, run_batch, start_worker


class WorkQueue:
    """Batches that are waiting; any thread may take them.

    `batches`: those that are judged `alone` come last, in their order. None: `fill` adds them later, and a
    thread that takes a batch waits until then.
    """

    def __init__(self, batches: Iterable[Work] | None = None) -> None:
        self._filled = threading.Event()
        self._lock = threading.Lock()
        self._batches: deque[Work] = deque()
        self._last: deque[Work] = deque()
        if batches is not None:
            self.fill(batches)

    def fill(self, batches: Iterable[Work]) -> None:
        """Add the batches, once; waiting threads continue even if `batches` raises an error."""
        try:
            for batch in batches:
                (self._last if batch.alone else self._batches).append(batch)
        finally:
            self._filled.set()

    def __len__(self) -> int:
        """Return the number of waiting batches that need not run alone."""
        self._filled.wait()
        return len(self._batches)

    def next(self) -> Work | None:
        """Take a batch that may run beside others; None when all are taken."""
        self._filled.wait()
        with self._lock:
            return self._batches.popleft() if self._batches else None

    def next_alone(self) -> Work | None:
        """Take a batch that one worker of a device runs last; None when all are taken."""
        self._filled.wait()
        with self._lock:
            return self._last.popleft() if self._last else None


MOST_JOBS = 16
"""Worker processes of a device at most, unless more are requested."""

GRACE_SECONDS = 10.0
"""Seconds that running batches may still take when a run's time is over."""

LEAVE_SECONDS = 0.5
"""Grace period for worker exit; processes stuck in a driver are abandoned after it."""


def default_jobs(devices: int = 1) -> int:
    """Return the number of workers for this machine: one per processor, at most `MOST_JOBS` per device."""
    return max(1, min(os.cpu_count() or 1, MOST_JOBS * devices))


class Pool:
    """Judges batches in worker processes and yields the results in the caller's thread.

    `setup`: the first message to each worker.
    `jobs`: worker processes.
    `deadline`: the `time.monotonic` from which on no batch is started; cases not reached have no result.
    """

    def __init__(self, setup: WorkerSetup, jobs: int, deadline: float = math.inf) -> None:
        self._setup = setup
        self._jobs = jobs
        self._deadline = deadline
        self._queue = WorkQueue(())
        self._quarantine = Quarantine(setup.device.is_gpu)
        self._arrived: Queue[BatchResults | BaseException | None] = Queue()
        self._stopping = threading.Event()
        self._workers: set[WorkerProcess] = set()
        self._count = 0
        self._opened = False

    def run(self, batches: Iterable[Work], *, start_early: bool = False) -> ResultStream:
        """Judge all batches, and yield results as they arrive.

        A caller that stops early closes the iterator, and finds in `drain` what had arrived.
        """
        queue = WorkQueue(None if start_early else batches)

        def fill() -> None:
            if start_early:
                queue.fill(batches)

        yield from self.share(queue, start_early=start_early, meanwhile=fill)

    def share(
        self,
        queue: WorkQueue,
        *,
        start_early: bool = False,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> ResultStream:
        """Judge batches of a queue from which the pools of other devices may take, too; see `run`.

        `meanwhile`: called in this thread while the workers start.
        """
        self._queue = queue
        self._count = self._jobs if start_early else min(self._jobs, len(queue))
        threads = [
            threading.Thread(target=self._feed, args=(start_early,), daemon=True) for _ in range(self._count)
        ]
        try:
            for thread in threads:
                thread.start()
            meanwhile()
            yield from filter(None, self._collect())
            yield from filter(None, self._run_alone())
        finally:
            self.stop()
            leave = time.monotonic() + LEAVE_SECONDS
            for thread in filter(threading.Thread.is_alive, threads):
                thread.join(max(0.0, leave - time.monotonic()))

    def _collect(self) -> ResultStream:
        """Yield the final results of all workers until the last worker ends."""
        alive = self._count
        while alive:
            results: list[Result] = []
            with suppress(Empty):
                item = self._arrived.get(timeout=1.0 if self._quarantine.holding else None)
                if item is None:
                    alive -= 1
                elif isinstance(item, BaseException):
                    raise item
                else:
                    results = self._final(item)
            yield results + self._quarantine.release()
        yield self._quarantine.release(everything=True)

    def _final(self, answer: BatchResults) -> list[Result]:
        """Return the results that are final; the only worker of a pool has no other that could disturb it."""
        return self._quarantine.add(answer) if self._count > 1 else answer.results

    def drain(self) -> list[Result]:
        """Return the final results that `run` had no time to yield before it was closed."""
        results: list[Result] = []
        with suppress(Empty):
            while True:
                item = self._arrived.get_nowait()
                if isinstance(item, BatchResults):
                    results += self._final(item)
        return results + self._quarantine.release(everything=True)

    def stop(self) -> None:
        """End all workers; `run` ends with the results that it has, whichever thread it is in."""
        self._stopping.set()
        workers = list(self._workers)
        for worker in workers:
            worker.signal()
        for worker in workers:
            worker.kill()

    def _next(self) -> Work | None:
        """Take a batch; None when all are taken."""
        return None if self._ending() else self._queue.next()

    def _ending(self) -> bool:
        """Return whether the run is stopping, or its time is over."""
        return self._stopping.is_set() or time.monotonic() >= self._deadline

    def _start(self) -> WorkerProcess:
        """Start a worker; see `start_worker`."""
        worker = start_worker(self._setup, self._opened, self._stopping.wait, self._workers)
        self._opened = True
        return worker

    def _feed(self, start_early: bool) -> None:
        """Feed one worker until no batch is left, and start another where it fails."""
        worker: WorkerProcess | None = None
        try:
            worker = self._start() if start_early else None
            while (batch := self._next()) is not None:
                worker = worker or self._start()
                answer = self._run_batch(worker, batch)
                if isinstance(answer, list):
                    self._arrived.put(BatchResults(batch, answer))
                    continue
                worker = None
                if self._ending():
                    return
                self._quarantine.add_worker_failure(batch, answer, alone=self._count == 1)
        except BaseException as error:
            self._arrived.put(error)
        finally:
            if worker is not None:
                self._workers.discard(worker)
                worker.dismiss()
            self._arrived.put(None)
            if worker is not None:
                worker.close()

    def _run_batch(self, worker: WorkerProcess, batch: Work) -> list[Result] | WorkerFailure:
        """Run a batch in a worker; a worker that fails is killed."""
        seconds = self._setup.timeout + SECONDS_PER_CASE * len(batch)
        seconds = max(0.0, min(seconds, self._deadline + GRACE_SECONDS - time.monotonic()))
        answer = run_batch(worker, batch, seconds)
        if isinstance(answer, WorkerFailure):
            self._workers.discard(worker)
            worker.kill()
        return answer

    def _run_alone(self) -> ResultStream:
        """Run the retries and the batches that may hang, in one worker at a time."""
        worker: WorkerProcess | None = None
        while (retry := self._next_retry()) is not None:
            if retry.alone and retry.failure is not None:
                answer: list[Result] | WorkerFailure = retry.failure
            else:
                worker = worker or self._start()
                answer = self._run_batch(worker, retry.batch)
            if isinstance(answer, WorkerFailure):
                if self._ending():  # `stop` or the deadline ended the worker, not the batch
                    return
                worker = worker if retry.alone else None
            yield self._quarantine.finish(retry, answer)
        if worker is not None:
            self._workers.discard(worker)
            worker.close()

    def _next_retry(self) -> Retry | None:
        """Take the next batch to run alone: first the retries, then the batches that may hang."""
        if self._ending():
            return None
        if self._quarantine.retries:
            return self._quarantine.retries.popleft()
        batch = self._queue.next_alone()
        return None if batch is None else Retry(batch)
