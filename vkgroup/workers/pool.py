"""Local backends of the scheduler: pools of worker processes, and this process itself.

A pool has the worker processes of one device. Each process has a thread here, which gives it batches. A
worker that crashes, hangs or loses its device is killed; the thread starts another one for the next batch, on
compile-only devices also for the same batch. There, a worker that has used much memory is replaced, too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from queue import Empty, Queue

from vkgroup.base.errors import DeviceLost, DispatchTimeout, VkgroupError
from vkgroup.record.record import NoVerdict, Result, Status
from vkgroup.workers.messages import WorkerSession, WorkerSetup
from vkgroup.workers.retry import BatchOutcome, Retry, WorkerFailure, run_batch
from vkgroup.workers.worker_process import SECONDS_PER_CASE, WorkerProcess, start_worker

MOST_JOBS = 16
"""Worker processes of a device at most, unless more are requested."""

AHEAD = 2
"""Batches that are submitted for each that can run at the same time, so that workers need not wait."""

MEMORY_LIMIT = 1 << 30
"""Bytes of resident memory from which on a worker of a compile-only device is replaced after its batch."""

LEAVE_SECONDS = 0.5
"""Grace period for worker exit; processes stuck in a driver are abandoned after it."""


def default_jobs(devices: int = 1) -> int:
    """Return the number of workers for this machine: one per processor, at most `MOST_JOBS` per device."""
    return max(1, min(os.cpu_count() or 1, MOST_JOBS * devices))


_Answer = list[Result | NoVerdict] | WorkerFailure | None
_Outcomes = Queue["tuple[Pool, Retry, _Answer, int] | BaseException"]


class Pool:
    """Worker processes of one device.

    `setup`: the first message to each worker.
    `jobs`: worker processes.
    `deadline`: the `time.monotonic` from which on no batch is started.
    `outcomes`: receives each batch with its results or the failure of its worker, None if it was not started,
    and the peak memory of the worker.

    Attributes
    ----------
    running : submitted batches whose outcome was not taken.
    parallel : whether several workers run batches.
    problem : the reason why no worker can open the device.
    """

    def __init__(
        self,
        setup: WorkerSetup,
        jobs: int,
        deadline: float,
        outcomes: _Outcomes,
    ) -> None:
        self.jobs = jobs
        self.running = 0
        self.parallel = False
        self.problem: VkgroupError | None = None
        self._setup = setup
        self._deadline = deadline
        self._outcomes = outcomes
        self._submitted: Queue[Retry | None] = Queue()
        self._threads: list[threading.Thread] = []
        self._alone = False
        self._stopping = threading.Event()
        self._busy: set[WorkerProcess] = set()
        self._opened = False

    def start(self, *, at_once: bool = False) -> None:
        """Add a worker. Its process starts with its first batch, or `at_once`."""
        thread = threading.Thread(target=self._serve, args=(self._submitted, at_once), daemon=True)
        self._threads.append(thread)
        self.parallel = len(self._threads) > 1
        thread.start()

    def submit(self, retry: Retry, alone: bool) -> None:
        """Run a batch in the next free worker; before the first that runs alone, end all other workers."""
        if alone and not self._alone:
            self._alone = True
            self._end()
            self.parallel = False
        self.running += 1
        self._submitted.put(retry)
        if len(self._threads) < (1 if alone else self.jobs):
            self.start()

    def close(self) -> None:
        """End all workers; those that run a batch are killed."""
        self._stopping.set()
        workers = list(self._busy)
        for worker in workers:
            worker.signal()
        for worker in workers:
            worker.kill()
        self._end()

    def _end(self) -> None:
        """Let the workers end after the submitted batches, and wait for them at most `LEAVE_SECONDS`."""
        for _ in self._threads:
            self._submitted.put(None)
        leave = time.monotonic() + LEAVE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, leave - time.monotonic()))
        self._submitted, self._threads = Queue(), []

    def _serve(self, submitted: Queue[Retry | None], at_once: bool) -> None:
        """Run the submitted batches in one worker process at a time."""
        worker: WorkerProcess | None = None
        try:
            worker = self._start() if at_once else None
            while (retry := submitted.get()) is not None and not self._stopping.is_set():
                answer: _Answer = None
                memory = 0
                if time.monotonic() < self._deadline:
                    is_new = worker is None
                    worker = worker or self._start()
                    if worker is not None:
                        answer = self._run(worker, retry)
                        memory = worker.peak_memory
                    if not is_new and self._needs_new_process(answer):
                        worker = self._start()
                        answer = None if worker is None else self._run(worker, retry)
                if isinstance(answer, WorkerFailure):
                    worker = None
                    if self._stopping.is_set():  # `close` ended the worker, not the batch
                        return
                self._outcomes.put((self, retry, answer, memory))
                if worker is not None and self._has_grown(worker):
                    worker.close()
                    worker = None
        except BaseException as error:
            self._outcomes.put(error)
        finally:
            if worker is not None:
                worker.close()

    def _needs_new_process(self, answer: _Answer) -> bool:
        """Return whether a batch runs again in a new process, because an older process crashed in it.

        The library in place of RADV's kernel driver crashes when its memory is used up. The batch that runs
        then is not the reason.
        """
        if not (isinstance(answer, WorkerFailure) and answer.status is Status.CRASH):
            return False
        ends = self._stopping.is_set() or time.monotonic() >= self._deadline
        return bool(self._setup.device.gpu) and not ends

    def _has_grown(self, worker: WorkerProcess) -> bool:
        """Return whether the driver of an absent GPU has used much memory, which it does not give back."""
        return bool(self._setup.device.gpu) and worker.peak_memory > MEMORY_LIMIT

    def _start(self) -> WorkerProcess | None:
        """Start a process; None, and a `problem`, where that fails."""
        if self.problem is None:
            try:
                worker = start_worker(self._setup, self._opened, self._stopping.wait, self._busy)
            except VkgroupError as error:
                self.problem = error
            else:
                self._opened = True
                self._busy.discard(worker)
                return worker
        return None

    def _run(self, worker: WorkerProcess, retry: Retry) -> list[Result | NoVerdict] | WorkerFailure:
        """Run a batch; a worker that fails is killed."""
        self._busy.add(worker)
        answer = run_batch(worker, retry.batch, self._setup.timeout + SECONDS_PER_CASE * len(retry.batch))
        self._busy.discard(worker)
        if isinstance(answer, WorkerFailure):
            worker.kill()
        return answer


class LocalBackend:
    """Devices of this host with a pool each; see `vkgroup.workers.scheduler.Backend`.

    `setups`: for each device the setup, the number of workers, and the name of the device in results.
    `start_early`: start all workers before the first batch.
    """

    def __init__(
        self, setups: Sequence[tuple[WorkerSetup, int, str]], deadline: float, *, start_early: bool
    ) -> None:
        self._outcomes: _Outcomes = Queue()
        self._pools = {
            Pool(setup, jobs, deadline, self._outcomes): (str(number), name)
            for number, (setup, jobs, name) in enumerate(setups)
        }
        for pool in self._pools if start_early else ():
            for _ in range(pool.jobs):
                pool.start(at_once=True)

    @property
    def running(self) -> int:
        """The number of submitted batches whose outcome was not taken."""
        return sum(pool.running for pool in self._pools)

    @property
    def problem(self) -> VkgroupError | None:
        """The reason why a device could not be opened."""
        return next((pool.problem for pool in self._pools if pool.problem), None)

    def submit(self, retry: Retry, alone: bool) -> bool:
        """Submit a batch to the device with the most room, a retry to the device where it failed before."""
        pools = [pool for pool in self._pools if pool.problem is None]
        if not pools and self.problem is not None:
            raise self.problem
        pools = [pool for pool in pools if self._pools[pool][0] == retry.worker] or pools
        pool = min(pools, key=lambda pool: pool.running / pool.jobs)
        if pool.running >= (1 if alone else AHEAD * pool.jobs):
            return False
        pool.submit(retry, alone)
        return True

    def take(self, seconds: float) -> BatchOutcome | None:
        """Return the next outcome; None after the time limit in seconds."""
        try:
            item = self._outcomes.get(timeout=seconds)
        except Empty:
            return None
        if isinstance(item, BaseException):
            raise item
        pool, retry, answer, memory = item
        pool.running -= 1
        worker, device = self._pools[pool]
        return BatchOutcome(retry, answer, worker, device, alone=not pool.parallel, memory=memory)

    def close(self) -> None:
        """End all workers."""
        for pool in self._pools:
            pool.close()


class InProcessBackend:
    """A device that this process opens; see `vkgroup.workers.scheduler.Backend`."""

    problem = None

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._session: WorkerSession | None = None
        self._submitted: Retry | None = None

    @property
    def running(self) -> int:
        """The number of submitted batches whose outcome was not taken."""
        return int(self._submitted is not None)

    def submit(self, retry: Retry, alone: bool) -> bool:
        """Accept one batch at a time."""
        if self._submitted is not None:
            return False
        self._submitted = retry
        return True

    def take(self, seconds: float) -> BatchOutcome | None:
        """Run the submitted batch; a lost device is closed, and opened again for the next batch."""
        retry, self._submitted = self._submitted, None
        if retry is None:
            return None
        self._session = self._session or self._setup.open()
        try:
            return BatchOutcome(retry, self._session.perform(retry.batch), alone=True)
        except (DeviceLost, DispatchTimeout) as error:
            self.close()
            status = Status.TIMEOUT if isinstance(error, DispatchTimeout) else Status.CRASH
            return BatchOutcome(retry, WorkerFailure(status, str(error)), alone=True)

    def close(self) -> None:
        """Close the device."""
        self._submitted = None
        if self._session is not None:
            self._session.close()
            self._session = None
