"""Batches in workers: results, worker failures, repetition alone, quarantine of failures near a crash."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from vkgroup.record.record import AGAINST_THE_DEVICE, NoVerdict, Result, Status
from vkgroup.record.run import line_of
from vkgroup.workers.messages import Failure
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

QUARANTINE_SECONDS = 30.0
"""Seconds around a worker failure in which failures of other workers of the device are not final."""


class Named(Protocol):
    """A case, or another item that has one result."""

    @property
    def name(self) -> str:
        """The name of its result."""


class WorkBatch(Protocol):
    """A batch: the cases that a worker runs in one job."""

    @property
    def cases(self) -> Sequence[Named]:
        """The cases of the batch."""

    @property
    def alone(self) -> bool:
        """Whether one worker runs it after all others are done."""

    def __len__(self) -> int:
        """Return the number of cases."""

    def parts(self) -> Sequence[WorkBatch]:
        """Return the batch split into smaller ones."""

    def only(self, names: Collection[str]) -> WorkBatch:
        """Return the batch with these cases only."""


@dataclass(frozen=True)
class BatchResults:
    """The results of a batch, and the `time.monotonic` at which they arrived."""

    batch: WorkBatch
    results: list[Result]
    when: float = field(default_factory=time.monotonic)

    def split(self) -> tuple[list[Result], BatchResults | None]:
        """Return the final results, and the failures, which another worker's crash may have caused."""
        against = [result for result in self.results if result.status in AGAINST_THE_DEVICE]
        if not against:
            return self.results, None
        names = {result.case for result in against}
        final = [result for result in self.results if result.case not in names]
        return final, BatchResults(self.batch.only(names), against, self.when)


@dataclass(frozen=True)
class WorkerFailure:
    """A worker that failed.

    `status`: for the case that caused it; None if vkgroup or the host failed, so that there is no verdict.
    """

    status: Status | None
    detail: str


@dataclass(frozen=True)
class Retry:
    """A batch to run again alone: a worker failed in it, or it failed near another worker's failure."""

    batch: WorkBatch
    #: The worker's failure before; None for a batch that was planned to run alone.
    failure: WorkerFailure | None = None
    #: The batch in which the worker failed: this one, or one with more cases; None if it ran another batch.
    failed: WorkBatch | None = None
    worker: str = ""  # see `BatchOutcome.worker`; "" where it was not run before

    def after(
        self, answer: list[Result] | WorkerFailure
    ) -> tuple[list[Result] | list[NoVerdict], list[Retry]]:
        """Return the results of running it alone, or its parts, to be run alone in turn.

        A single case in which the worker fails again is the cause; its result says so.
        """
        if isinstance(answer, list):
            return [self._with_history(result) for result in answer], []
        if len(self.batch) == 1:
            name = self.batch.cases[0].name
            if answer.status is None:
                return [NoVerdict(name, answer.detail)], []
            return [Result(name, answer.status, detail=answer.detail)], []
        return [], [Retry(part, answer, self.batch, self.worker) for part in self.batch.parts()]

    def _with_history(self, result: Result) -> Result:
        """Return a result with the earlier failure in its detail."""
        if self.failure is None:
            return result
        message, failed = self.failure.detail, self.failed
        if failed is None:
            before = f"judged again after it had failed while another worker died: {message}"
        elif self.failure.status is not None and len(failed) > len(self.batch):
            before = line_of(len(failed), failed.cases[0].name, message)
        else:
            before = f"judged again after a worker had died of its batch: {message}"
        return replace(result, detail=f"{result.detail}\n{before}".strip())


@dataclass(frozen=True)
class BatchOutcome:
    """The outcome of a batch that was submitted."""

    retry: Retry
    #: None: the batch was not run, and must be submitted again.
    answer: list[Result | NoVerdict] | WorkerFailure | None
    #: `worker`: identifies a device that can be lost without the others. `device`: the device as ``--device``
    #: takes it, if several share the run. `host`: its host, in a cluster.
    worker: str = ""
    device: str = ""
    host: str = ""
    alone: bool = False  # whether no other worker of the device ran a batch
    memory: int = 0  # the peak memory of the worker process in bytes; 0 if unknown

    def with_origin(self, results: list[Result]) -> list[Result]:
        """Return results with the device that ran them, and failures with its host."""
        named = []
        for result in results:
            detail = result.detail
            if self.host and result.status in AGAINST_THE_DEVICE:
                detail = f"{detail}\njudged on the host {self.host}".strip()
            named.append(replace(result, device=self.device, detail=detail))
        return named


def with_loss_remark(result: Result, hung: str) -> Result:
    """Add to a failure that the device was lost before: an H200 did not recover from a hang by itself."""
    if not hung or result.status not in AGAINST_THE_DEVICE:
        return result
    remark = f"the device was lost before, in {hung}: judge this again on one that has been reset"
    return replace(result, detail=f"{result.detail}\n{remark}")


class Quarantine:
    """The worker failures of a run, the failures that are held, and the batches to run again.

    The parameter `device` of the methods names a device that can be lost without the others; "" where there
    is one only.

    `is_gpu`: whether the device is a GPU, which may stay lost after a hang.

    Attributes: `retries`: batches to run alone, after all others. `without_verdict`: cases that have none.
    """

    def __init__(self, is_gpu: bool) -> None:
        self.retries: deque[Retry] = deque()
        self.without_verdict: list[NoVerdict] = []
        self._is_gpu = is_gpu
        self._worker_failures: list[tuple[float, str, WorkerFailure]] = []
        self._held: deque[tuple[BatchResults, str]] = deque()
        self._hung: dict[str, str] = {}

    def add_worker_failure(self, batch: WorkBatch, failure: WorkerFailure, device: str = "") -> None:
        """Note that a worker failed in a batch, which becomes a retry."""
        if failure.status is not None:
            self._worker_failures.append((time.monotonic(), device, failure))
        self.retries.append(Retry(batch, failure, batch, device))

    def add(self, answer: BatchResults, device: str = "") -> list[Result]:
        """Hold the failures among a batch's results, and return the others, which are final."""
        final, held = answer.split()
        if held is not None:
            self._held.append((held, device))
        return final

    def release(self, *, everything: bool = False) -> list[Result]:
        """Return the failures that are final by now; those near a worker failure become retries."""
        results: list[Result] = []
        while self._held and (everything or self._held[0][0].when < time.monotonic() - QUARANTINE_SECONDS):
            answer, device = self._held.popleft()
            failure = self._near(answer, device)
            if failure is None:
                results += answer.results
            else:
                self.retries.append(Retry(answer.batch, failure, worker=device))
        return results

    def _near(self, answer: BatchResults, device: str) -> WorkerFailure | None:
        """Return the first worker failure near an answer in time, on its device."""
        for when, where, failure in self._worker_failures:
            if where == device and abs(when - answer.when) <= QUARANTINE_SECONDS:
                return failure
        return None

    def finish(self, retry: Retry, answer: list[Result] | WorkerFailure, device: str = "") -> list[Result]:
        """Return the results of a retry; after another failure, the parts of its batch become retries."""
        found, parts = retry.after(answer)
        self.retries.extendleft(reversed(parts))
        self.without_verdict += [entry for entry in found if isinstance(entry, NoVerdict)]
        results = [entry for entry in found if isinstance(entry, Result)]
        if not results:
            return []
        final = [with_loss_remark(result, self._hung.get(device, "")) for result in results]
        if isinstance(answer, WorkerFailure) and self._is_gpu:
            self._hung.setdefault(device, results[0].case)
        return final


def run_batch(
    worker: WorkerProcess, batch: WorkBatch, seconds: float
) -> list[Result | NoVerdict] | WorkerFailure:
    """Return a batch's results, or how the worker failed."""
    try:
        answer: list[Result | NoVerdict] | Failure = worker.ask(batch, seconds)
    except WorkerDied as error:
        return WorkerFailure(None if error.is_internal else Status.CRASH, str(error))
    return worker_failure(answer) if isinstance(answer, Failure) else answer


def worker_failure(failure: Failure) -> WorkerFailure:
    """Return the status for the case that made a worker fail; None if the device is not the reason."""
    if failure.is_internal:
        return WorkerFailure(None, failure.message)
    return WorkerFailure(Status.TIMEOUT if failure.kind == "timeout" else Status.CRASH, failure.message)
