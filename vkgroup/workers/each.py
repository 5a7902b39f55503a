"""A list of jobs in worker processes, each with its own time limit and its own end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any

from vkgroup.base.errors import VkgroupError, describe
from vkgroup.workers.messages import Failure, WorkerSetup
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess


@dataclass(frozen=True)
class NoAnswer:
    """The end of a job without an answer; its text is one line."""

    text: str
    is_late: bool = False  # whether the job did not end in time
    is_crash: bool = False  # whether the worker process ended, or lost its device

    def __str__(self) -> str:
        return self.text


_Answers = Queue[tuple[int, Any, float]]


def perform_all(
    setup: WorkerSetup,
    jobs: Sequence[Any],
    workers: int,
    seconds: Sequence[float],
    grace: float,
    is_last: Callable[[Any], bool] = lambda answer: False,
) -> Generator[tuple[int, Any, float], None, None]:
    """Yield each job's index, its answer and its time, in the order in which they end.

    A worker that crashes or takes too long for a job gives `NoAnswer` for that job, and another worker does
    the rest. A caller that stops early closes the iterator, which ends the workers.

    `setup`: the first message to each worker; its session answers a job.
    `seconds`: the time limit of each job, after which the session ends it.
    `grace`: seconds after the time limit until the worker process is killed.
    `is_last`: whether a worker process cannot go on after an answer, so that another one replaces it.
    """
    waiting: Queue[tuple[int, Any, float]] = Queue()
    for number, job in enumerate(jobs):
        waiting.put((number, job, seconds[number]))
    answers: _Answers = Queue()
    known: set[WorkerProcess] = set()
    for _ in range(min(workers, len(jobs))):
        work = (setup, waiting, answers, known, grace, is_last)
        threading.Thread(target=_work, args=work, daemon=True).start()
    try:
        for _ in jobs:
            yield _next(answers)
    finally:
        with waiting.mutex:
            waiting.queue.clear()
        for worker in list(known):
            worker.signal()


def _next(answers: _Answers) -> tuple[int, Any, float]:
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
    is_last: Callable[[Any], bool],
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
            answer = NoAnswer(f"crash: {_line(str(error))}", is_crash=True)
        except (OSError, VkgroupError) as error:
            answer = NoAnswer(f"error: no worker process starts: {describe(error)}")
        else:
            if isinstance(answer, Failure):  # the worker could not end the job
                is_late, is_lost = answer.kind in ("timeout", "busy"), answer.kind == "lost"
                name = "device lost" if is_lost else "error"
                why = f"no end within {seconds:g} s" if is_late else f"{name}: {_line(answer.message)}"
                answer = NoAnswer(why, is_late=is_late, is_crash=is_lost)
        if worker is not None and (isinstance(answer, NoAnswer) or is_last(answer)):
            worker.kill()
            known.discard(worker)
            worker = None
        answers.put((index, answer, time.monotonic() - start))
    if worker is not None:
        known.discard(worker)
        worker.dismiss()


def _line(text: str) -> str:
    return text.strip().partition("\n")[0]
