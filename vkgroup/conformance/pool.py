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
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, Queue
from typing import Any

from vkgroup import processes
from vkgroup.conformance.doubts import Doubts
from vkgroup.conformance.messages import CLOSE_SECONDS, Failure, Setup, receive, send
from vkgroup.conformance.results import Result, Status, TakeResults
from vkgroup.conformance.supply import Supply
from vkgroup.conformance.suspects import Answer, Death, Suspect, Work
from vkgroup.errors import NoDevice

WORKER = "vkgroup.conformance.worker"
"""The module that a worker runs."""

START_SECONDS = 120.0
"""Seconds that a worker may take to start and open its device."""

PAUSES = (0.5, 2.0, 8.0, 20.0)
"""Seconds before a worker that did not start is started again, until the run gives up."""

FIRST_PAUSES = 2
"""How many of them there are as long as no worker has ever opened the device."""

GRACE_SECONDS = 10.0
"""Seconds that batches at work may still take when a run's time is over."""

SECONDS_PER_CASE = 2.0
"""Seconds that each further case adds to the time of a batch: slow compilers are not hangs."""

KILL_SECONDS = 30.0
"""Seconds that a driver may take to let go of a process that is killed."""

LEAVE_SECONDS = 0.5
"""Seconds for which a run waits for its workers to end. A driver may take longer to let go of a process, with
which nobody is concerned any more."""


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
        try:
            code = self._process.wait(timeout=KILL_SECONDS)
        except subprocess.TimeoutExpired:
            return "the process closed its pipes and does not end"
        how = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._log.seek(0)
        last = self._log.read().decode(errors="replace").strip()[-400:]
        return f"the process was {how}" + (f"; it printed: {last}" if last else "")

    def signal(self) -> None:
        """Tell the process to end, however it is."""
        self._process.kill()

    def kill(self) -> None:
        """End the process, however it is; one that a driver does not let go of is left behind."""
        self.signal()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=KILL_SECONDS)
        self.dismiss()

    def dismiss(self) -> None:
        """Let the process end."""
        with suppress(OSError):
            self._requests.close()

    def close(self) -> None:
        """Let the process end, and wait for that."""
        self.dismiss()
        try:
            self._process.wait(timeout=CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()


def start(
    setup: Setup,
    module: str,
    opened: bool,
    wait: Callable[[float], bool],
    known: set[Worker] | None = None,
) -> Worker:
    """Start a worker; one that dies on the way is given another chance, for others may have killed it.

    Where a device was opened before it is still there, but a driver that recovers from a hang may refuse it
    for seconds.

    Parameters
    ----------
    opened : whether a worker has opened the device before.
    wait : waits for so many seconds, and returns whether nobody needs the worker any more.
    known : see `Worker`.

    Raises
    ------
    NoDevice
        No worker starts.
    """
    for pause in (*(PAUSES if opened else PAUSES[:FIRST_PAUSES]), None):
        try:
            return Worker(setup, module, known)
        except (WorkerDied, OSError, NoDevice) as error:
            fatal = isinstance(error, NoDevice) and not opened
            if fatal or pause is None or wait(pause):
                raise NoDevice(f"No worker process starts: {error}") from error
    raise AssertionError("the last turn returns or raises")


def ask(worker: Worker, batch: Work, seconds: float) -> list[Result] | Death:
    """Let a worker judge a batch in so many seconds; where it dies of it, say how."""
    try:
        answer = worker.run(batch, seconds)
    except WorkerDied as error:
        return Death(Status.CRASH, str(error))
    if not isinstance(answer, Failure):
        return answer
    return Death(Status.TIMEOUT if answer.kind == "timeout" else Status.CRASH, answer.message)


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
        self._supply = Supply(())
        self._doubts = Doubts(setup.device.is_gpu)
        self._results: Queue[Answer | BaseException | None] = Queue()
        self._stopping = threading.Event()
        self._workers: set[Worker] = set()
        self._opened = False

    def run(
        self,
        batches: Iterable[Work],
        on_results: TakeResults,
        *,
        at_once: bool = False,
    ) -> None:
        """Judge all batches; `on_results` is called in this thread as they come.

        Parameters
        ----------
        at_once : start all workers before any batch is there, which saves time where planning takes some.

        Raises
        ------
        NoDevice
            A worker could not open the device.
        """
        supply = Supply(None if at_once else batches)

        def fill() -> None:
            if at_once:
                supply.fill(batches)

        self.share(supply, on_results, at_once=at_once, meanwhile=fill)

    def share(
        self,
        supply: Supply,
        on_results: TakeResults,
        *,
        at_once: bool = False,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Judge what is in a supply, from which the pools of other devices may take too; see `run`.

        Parameters
        ----------
        meanwhile : called in this thread while the workers start.
        """
        self._supply = supply
        count = self._jobs if at_once else min(self._jobs, len(supply))
        threads = [
            threading.Thread(target=self._feed, args=(count, at_once), daemon=True) for _ in range(count)
        ]
        try:
            for thread in threads:
                thread.start()
            meanwhile()
            self._collect(count, on_results)
            self._judge_alone(on_results)
        finally:
            self.stop()
            leave = time.monotonic() + LEAVE_SECONDS
            for thread in filter(threading.Thread.is_alive, threads):
                thread.join(max(0.0, leave - time.monotonic()))

    def _collect(self, count: int, on_results: TakeResults) -> None:
        """Pass on the results of so many workers until none is left; failures when they can be believed."""
        alive = count
        try:
            while alive:
                with suppress(Empty):
                    item = self._results.get(timeout=1.0 if self._doubts.holding else None)
                    if item is None:
                        alive -= 1
                    else:
                        self._take(item, on_results, others=count > 1)
                self._doubts.settle()
        finally:
            # Where the run is interrupted, too: what was measured is kept, if no death made it doubtful.
            with suppress(Empty):
                while True:
                    if isinstance(item := self._results.get_nowait(), Answer):
                        self._take(item, on_results, others=count > 1)
            self._doubts.settle(now=True)

    def _take(self, item: Answer | BaseException, on_results: TakeResults, *, others: bool) -> None:
        """Pass on the results of a worker; of failures only those that no death of others can explain."""
        if isinstance(item, BaseException):
            raise item
        if others:
            self._doubts.answered(item, on_results)
        elif item.results:
            on_results(item.results)

    def stop(self) -> None:
        """End all workers; `run`, in whichever thread it is, comes to an end with what it has."""
        self._stopping.set()
        workers = list(self._workers)
        for worker in workers:
            worker.signal()
        for worker in workers:
            worker.kill()

    def _next(self) -> Work | None:
        """Take a batch; None when all are taken."""
        return None if self._late() else self._supply.next()

    def _late(self) -> bool:
        """Return whether the run is ending, or its time is over."""
        return self._stopping.is_set() or time.monotonic() >= self._deadline

    def _start(self) -> Worker:
        """Start a worker; see `start`."""
        worker = start(self._setup, self._module, self._opened, self._stopping.wait, self._workers)
        self._opened = True
        return worker

    def _feed(self, count: int, at_once: bool) -> None:
        """Feed one worker of so many until nothing is left, starting another when it dies."""
        worker: Worker | None = None
        try:
            worker = self._start() if at_once else None
            while (batch := self._next()) is not None:
                worker = worker or self._start()
                answer = self._ask(worker, batch)
                if isinstance(answer, list):
                    self._results.put(Answer(batch, answer))
                    continue
                worker = None
                if self._late():
                    return
                self._doubts.died(batch, answer, alone=count == 1)
        except BaseException as error:
            self._results.put(error)
        finally:
            if worker is not None:
                self._workers.discard(worker)
                worker.dismiss()
            self._results.put(None)
            if worker is not None:
                worker.close()

    def _ask(self, worker: Worker, batch: Work) -> list[Result] | Death:
        """Let a worker judge a batch; where it dies of it, it is gone afterwards."""
        seconds = self._setup.timeout + SECONDS_PER_CASE * len(batch)
        seconds = max(0.0, min(seconds, self._deadline + GRACE_SECONDS - time.monotonic()))
        answer = ask(worker, batch, seconds)
        if isinstance(answer, Death):
            self._workers.discard(worker)
            worker.kill()
        return answer

    def _judge_alone(self, on_results: TakeResults) -> None:
        """Judge the batches that may hang, and again those that workers died of, with nobody else at work."""
        worker: Worker | None = None
        while (suspect := self._next_suspect()) is not None:
            if suspect.alone and suspect.death is not None:
                answer: list[Result] | Death = suspect.death
            else:
                worker = worker or self._start()
                answer = self._ask(worker, suspect.batch)
            if isinstance(answer, Death):
                if self._late():  # by `stop` or the deadline, and not by the batch
                    return
                worker = worker if suspect.alone else None
            self._doubts.judged_alone(suspect, answer, on_results)
        if worker is not None:
            self._workers.discard(worker)
            worker.close()

    def _next_suspect(self) -> Suspect | None:
        """Take what is to be judged alone: first what workers died of, then what is planned so."""
        if self._late():
            return None
        if self._doubts.suspects:
            return self._doubts.suspects.popleft()
        batch = self._supply.next_alone()
        return None if batch is None else Suspect(batch)
