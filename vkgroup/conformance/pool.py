"""Worker processes and what becomes of a batch whose worker dies, hangs or loses its device.

Each worker has a thread here that feeds it. A hang or a crash on a GPU may take other workers' devices along.
So a batch that a worker died of is put aside, and judged again when all others are done and one worker alone
is at work. If that dies as well the batch is split, until the guilty case stands alone. Failures from
about the time of a death are judged again in the same way. Batches that may hang are judged alone at once.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, Queue
from typing import Any, Protocol

from vkgroup import processes
from vkgroup.conformance.messages import Failure, Setup, receive, send
from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status
from vkgroup.errors import NoDevice

WORKER = "vkgroup.conformance.worker"
"""The module that a worker runs."""

START_SECONDS = 120.0
"""Seconds that a worker may take to start and open its device."""

TROUBLE_SECONDS = 30.0
"""Seconds around a worker's death in which failures of others are doubted."""

PAUSES = (0.5, 2.0, 8.0, 20.0)
"""Seconds before a worker that did not start is started again, until the run gives up."""

FIRST_PAUSES = 2
"""How many of them there are as long as no worker has ever opened the device."""

GRACE_SECONDS = 10.0
"""Seconds that batches at work may still take when a run's time is over."""

SECONDS_PER_CASE = 2.0
"""Seconds that each further case adds to the time of a batch: slow compilers are not hangs."""


class Named(Protocol):
    """A case, or what else is judged alone in the end."""

    @property
    def name(self) -> str:
        """The name of its result."""


class Work(Protocol):
    """What a worker judges at a time: a batch."""

    @property
    def cases(self) -> Sequence[Named]:
        """What has results."""

    @property
    def alone(self) -> bool:
        """Whether it is judged when all others are done, by one worker."""

    def __len__(self) -> int:
        """Return how many they are."""

    def parts(self) -> Sequence[Work]:
        """Return it split."""


class WorkerDied(Exception):
    """A worker ended without an answer."""


class Worker:
    """One worker process and its pipes.

    Parameters
    ----------
    setup : what it is told first.
    module : what it runs.
    known : of the processes that are to be ended with the run; it is there while it starts, too.
    """

    def __init__(self, setup: Setup, module: str = WORKER, known: set[Worker] | None = None) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        self._process = subprocess.Popen(
            processes.command(module),
            env=processes.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # Ctrl-C in a terminal is for the run alone, which ends its workers: none dies of it in a case.
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
            answer = self._wait(START_SECONDS)
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

    def run(self, batch: Work, seconds: float) -> list[Result] | Failure:
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
    module : what they run.
    deadline : the `time.monotonic` from which on no batch is begun; what has no verdict has no result.
    """

    def __init__(self, setup: Setup, jobs: int, module: str = WORKER, deadline: float = math.inf) -> None:
        self._setup = setup
        self._module = module
        self._jobs = jobs
        self._deadline = deadline
        self._batches: deque[Work] = deque()
        self._last: list[Work] = []
        self._hung = ""
        self._suspects: deque[_Suspect] = deque()
        self._deaths: list[tuple[float, _Death]] = []
        self._results: Queue[_Answer | BaseException | None] = Queue()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._workers: set[Worker] = set()
        self._opened = False

    def run(self, batches: Iterable[Work], on_results: Callable[[list[Result]], None]) -> None:
        """Judge all batches; `on_results` is called in this thread as they come.

        Raises
        ------
        NoDevice
            A worker could not open the device.
        """
        for batch in batches:
            if batch.alone:
                self._last.append(batch)
            else:
                self._batches.append(batch)
        count = min(self._jobs, len(self._batches))
        threads = [threading.Thread(target=self._feed, args=(count,), daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        alive = count
        held: deque[_Answer] = deque()
        try:
            while alive:
                with suppress(Empty):
                    item = self._results.get(timeout=1.0 if held else None)
                    if item is None:
                        alive -= 1
                    elif isinstance(item, BaseException):
                        raise item
                    elif count > 1 and item.fails:
                        held.append(item)
                    else:
                        on_results(item.results)
                while held and held[0].when < time.monotonic() - TROUBLE_SECONDS:
                    self._settle(held.popleft(), on_results)
            for answer in held:
                self._settle(answer, on_results)
            self._suspects.extend(_Suspect(batch) for batch in self._last)
            self._judge_alone(on_results)
        finally:
            self._stopping.set()
            for worker in list(self._workers):
                worker.kill()

    def _settle(self, answer: _Answer, on_results: Callable[[list[Result]], None]) -> None:
        """Pass on failures, or doubt them: a device that is lost may end others' work half done."""
        near = [death for when, death in self._deaths if abs(when - answer.when) <= TROUBLE_SECONDS]
        if near:
            self._suspects.append(_Suspect(answer.batch, near[0], own=False))
        else:
            on_results(answer.results)

    def _next(self) -> Work | None:
        """Take a batch; None when all are taken."""
        with self._lock:
            return self._batches.popleft() if self._batches and not self._late() else None

    def _late(self) -> bool:
        """Return whether the run is ending, or its time is over."""
        return self._stopping.is_set() or time.monotonic() >= self._deadline

    def _start(self) -> Worker:
        """Start a worker; one that dies on the way is given another chance, for others may have killed it.

        Where a device was opened before it is still there, but a driver that recovers from a hang may refuse
        it for seconds.
        """
        for pause in (*(PAUSES if self._opened else PAUSES[:FIRST_PAUSES]), None):
            try:
                worker = Worker(self._setup, self._module, self._workers)
            except (WorkerDied, OSError, NoDevice) as error:
                fatal = isinstance(error, NoDevice) and not self._opened
                if fatal or pause is None or self._stopping.is_set():
                    raise NoDevice(f"No worker process starts: {error}") from error
                self._stopping.wait(pause)
            else:
                self._opened = True
                return worker
        raise AssertionError("the last turn returns or raises")

    def _feed(self, count: int) -> None:
        """Feed one worker of so many until nothing is left, starting another when it dies."""
        worker: Worker | None = None
        try:
            while (batch := self._next()) is not None:
                worker = worker or self._start()
                answer = self._ask(worker, batch)
                if isinstance(answer, list):
                    self._results.put(_Answer(batch, answer))
                    continue
                worker = None
                if self._late():
                    return
                with self._lock:
                    self._deaths.append((time.monotonic(), answer))
                    self._suspects.append(_Suspect(batch, answer, alone=count == 1))
        except BaseException as error:
            self._results.put(error)
        finally:
            if worker is not None:
                self._end(worker)
            self._results.put(None)

    def _ask(self, worker: Worker, batch: Work) -> list[Result] | _Death:
        """Let a worker judge a batch; where it dies of it, it is gone afterwards."""
        seconds = self._setup.timeout + SECONDS_PER_CASE * len(batch)
        seconds = max(0.0, min(seconds, self._deadline + GRACE_SECONDS - time.monotonic()))
        try:
            answer = worker.run(batch, seconds)
        except WorkerDied as error:
            death = _Death(Status.CRASH, str(error))
        else:
            if not isinstance(answer, Failure):
                return answer
            status = Status.TIMEOUT if answer.kind == "timeout" else Status.CRASH
            death = _Death(status, answer.message)
        self._workers.discard(worker)
        worker.kill()
        return death

    def _end(self, worker: Worker) -> None:
        self._workers.discard(worker)
        worker.close()

    def _judge_alone(self, on_results: Callable[[list[Result]], None]) -> None:
        """Judge the batches that may hang, and again those that workers died of, with nobody else at work."""
        worker: Worker | None = None
        while self._suspects and not self._late():
            suspect = self._suspects.popleft()
            if suspect.alone and suspect.death is not None:
                answer: list[Result] | _Death = suspect.death
            else:
                worker = worker or self._start()
                answer = self._ask(worker, suspect.batch)
            if isinstance(answer, list):
                on_results([self._doubted(suspect.excused(result)) for result in answer])
                continue
            if not suspect.alone:
                worker = None
            if self._late():
                break
            if len(suspect.batch) == 1:
                name = suspect.batch.cases[0].name
                on_results([self._doubted(Result(name, answer.status, detail=answer.detail))])
                self._hung = self._hung or name
                continue
            parts = [_Suspect(part, answer) for part in suspect.batch.parts()]
            self._suspects.extendleft(reversed(parts))
        if worker is not None:
            self._end(worker)

    def _doubted(self, result: Result) -> Result:
        """Add to a failure that the device had hung before: an H200 did not recover from that by itself."""
        if not (self._hung and self._setup.device.is_gpu and result.status in AGAINST_THE_DEVICE):
            return result
        doubt = f"the device was lost before, in {self._hung}: judge this again on one that has been reset"
        return replace(result, detail=f"{result.detail}\n{doubt}")


@dataclass(frozen=True)
class _Answer:
    """What a worker said of a batch, and when."""

    batch: Work
    results: list[Result]
    when: float = field(default_factory=time.monotonic)

    @property
    def fails(self) -> bool:
        """Whether it has verdicts against the device."""
        return any(result.status in AGAINST_THE_DEVICE for result in self.results)


@dataclass(frozen=True)
class _Death:
    """What a worker died of, in words, and the status of a case that is to blame."""

    status: Status
    detail: str


@dataclass(frozen=True)
class _Suspect:
    """A batch that a worker died of, or that failed while another died.

    Attributes
    ----------
    death : what a worker died of before; None if none has.
    own : whether the worker died of this batch.
    alone : whether that worker was the only one, so that nobody else is to blame.
    """

    batch: Work
    death: _Death | None = None
    alone: bool = False
    own: bool = True

    def excused(self, result: Result) -> Result:
        """Return a result with what came before it in its detail."""
        if self.death is None:
            return result
        how = "a worker had died of its batch" if self.own else "it had failed while another worker died"
        before = f"judged again after {how}: {self.death.detail}"
        return replace(result, detail=f"{result.detail}\n{before}".strip())
