"""Batches of work items in worker processes, and the status for a case that made its worker fail."""

from __future__ import annotations

from vkgroup.record.record import NoVerdict, Result, Status
from vkgroup.workers.messages import Failure
from vkgroup.workers.retry import WorkBatch, WorkerFailure
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess


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
