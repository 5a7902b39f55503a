"""Checks of many configurations in worker processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from queue import Empty, Queue
from typing import Any

from vkgroup.base.errors import VkgroupError, describe
from vkgroup.check.outcome import ConfigurationOutcome, OutcomeKind
from vkgroup.workers.messages import Failure, WorkerSetup
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

_Answers = Queue[tuple[int, ConfigurationOutcome]]


def check_all(
    setup: WorkerSetup, jobs: Sequence[Any], workers: int, seconds: Sequence[float], grace: float
) -> Generator[tuple[int, ConfigurationOutcome], None, None]:
    """Yield the outcome of each job with the job's index, in the order in which they end.

    A worker that crashes or takes too long for a job gives the outcome of that job, and another worker does
    the rest. A caller that stops early closes the iterator, which ends the workers.

    `setup`: the first message to each worker; its session answers a job with an `ConfigurationOutcome`.
    `seconds`: the time limit of each job, after which the session ends it.
    `grace`: seconds after which a worker is ended that does not do that.
    """
    waiting: Queue[tuple[int, Any, float]] = Queue()
    for number, job in enumerate(jobs):
        waiting.put((number, job, seconds[number]))
    answers: _Answers = Queue()
    known: set[WorkerProcess] = set()
    for _ in range(min(workers, len(jobs))):
        threading.Thread(target=_work, args=(setup, waiting, answers, known, grace), daemon=True).start()
    try:
        for _ in jobs:
            yield _next(answers)
    finally:
        with waiting.mutex:
            waiting.queue.clear()
        for worker in list(known):
            worker.signal()


def _next(answers: _Answers) -> tuple[int, ConfigurationOutcome]:
    """Return the next answer; wait in short steps, so that Ctrl-C has an effect."""
    while True:
        try:
            return answers.get(timeout=0.5)
        except Empty:
            continue


def _work(
    setup: WorkerSetup,
    waiting: Queue[tuple[int, Any, float]],
    answers: _Answers,
    known: set[WorkerProcess],
    grace: float,
) -> None:
    """Give the waiting jobs to a worker; start another one after a failure."""
    worker: WorkerProcess | None = None
    while True:
        try:
            index, job, seconds = waiting.get_nowait()
        except Empty:
            break
        start = time.monotonic()
        try:
            worker = worker or WorkerProcess(setup, known)
            answer = worker.ask(job, seconds + grace)
        except WorkerDied as error:
            answer = ConfigurationOutcome(OutcomeKind.ERROR, f"crash: {_line(str(error))}")
        except (OSError, VkgroupError) as error:
            answer = ConfigurationOutcome(
                OutcomeKind.ERROR, f"error: no worker process starts: {describe(error)}"
            )
        else:
            if isinstance(answer, ConfigurationOutcome):
                answers.put((index, replace(answer, seconds=time.monotonic() - start)))
                continue
            answer = _failed(answer, seconds)
        if worker is not None:
            worker.kill()
            known.discard(worker)
            worker = None
        answers.put((index, replace(answer, seconds=time.monotonic() - start)))
    if worker is not None:
        known.discard(worker)
        worker.dismiss()


def _failed(failure: Failure, seconds: float) -> ConfigurationOutcome:
    """Return the outcome of a job that a worker could not end."""
    if failure.kind in ("timeout", "busy"):
        return ConfigurationOutcome(OutcomeKind.NO_VERDICT, f"no verdict: no end within {seconds:g} s")
    return ConfigurationOutcome(OutcomeKind.ERROR, f"error: {_line(failure.message)}")


def _line(text: str) -> str:
    return text.strip().partition("\n")[0]
