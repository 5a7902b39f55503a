"""What a worker of a cluster does with a batch: it has a process of its own judge it, as every run does.

The driver is in that process, so what a driver crashes or hangs is never the Dask worker. A Dask worker has
one device; where several batches are judged at once there, each has its process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import distributed
from distributed.diagnostics.plugin import WorkerPlugin

from vkgroup.cluster.offer import KEY, Offer
from vkgroup.conformance.messages import Setup
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.pool import SECONDS_PER_CASE, WORKER, Worker, ask, start
from vkgroup.conformance.results import Result
from vkgroup.conformance.suspects import Death
from vkgroup.device import Capabilities
from vkgroup.errors import NoDevice

IDLE_SECONDS = 30.0
"""Seconds after which a process that has nothing to judge is ended, and its device closed."""


@dataclass(frozen=True)
class Outcome:
    """What came of a batch.

    Attributes
    ----------
    answer : its results, or what the process died of; None where no process could open the device.
    worker, host, device : the Dask worker's address, its host, the device as ``--device`` takes it there.
    refused : why the device could not be opened.
    """

    answer: list[Result] | Death | None
    worker: str
    host: str
    device: str
    refused: str = ""


def judge(setup: Setup, batch: Batch, alone: bool) -> Outcome:
    """Judge a batch on the device of the Dask worker that this runs on.

    Parameters
    ----------
    setup : its device stands for the worker's own.
    alone : whether nobody else may be at work on the device meanwhile.
    """
    return _member().judge(setup, batch, alone)


def capabilities() -> Capabilities:
    """Return the capabilities of the Dask worker's device."""
    return _member().capabilities


def _member() -> Member:
    member = distributed.get_worker().plugins[KEY]
    assert isinstance(member, Member)
    return member


class Member(WorkerPlugin):
    """A Dask worker's device, and the processes that judge on it.

    Parameters
    ----------
    offer : the device.
    capabilities : what it can do.
    """

    name = KEY

    def __init__(self, offer: Offer, capabilities: Capabilities) -> None:
        self.offer = offer
        self.capabilities = capabilities

    def setup(self, worker: Any) -> None:
        """Begin, in the Dask worker's process."""
        self._worker = worker
        self._turns = Turns()
        self._idle: list[_Idle] = []
        self._lock = threading.Lock()
        self._opened = False
        self._closed = threading.Event()
        threading.Thread(target=self._tidy, daemon=True).start()

    def teardown(self, worker: Any) -> None:
        """End all processes."""
        self._closed.set()
        self._end_idle(0.0)

    def judge(self, setup: Setup, batch: Batch, alone: bool) -> Outcome:
        """Judge a batch; see `judge`."""
        setup = replace(setup, device=self.offer.device)
        with self._turns.taken(alone):
            if alone:
                self._end_idle(0.0, setup)
            try:
                process = self._take(setup)
            except NoDevice as error:
                self._withdraw()
                return self._outcome(None, str(error))
            answer = ask(process, batch, setup.timeout + SECONDS_PER_CASE * len(batch))
            if isinstance(answer, Death):
                process.kill()
            else:
                with self._lock:
                    self._idle.append(_Idle(process, setup, time.monotonic()))
            return self._outcome(answer)

    def _outcome(self, answer: list[Result] | Death | None, refused: str = "") -> Outcome:
        return Outcome(answer, self._worker.address, self.offer.host, self.offer.device.choice, refused)

    def _take(self, setup: Setup) -> Worker:
        """Return a process that has nothing to do, else a new one."""
        with self._lock:
            for idle in self._idle:
                if idle.setup == setup:
                    self._idle.remove(idle)
                    return idle.process
        process = start(setup, WORKER, self._opened, self._closed.wait)
        self._opened = True
        return process

    def _withdraw(self) -> None:
        """Take the device back from the cluster: nothing is sent here any more."""
        self._worker.loop.add_callback(self._worker.set_resources, **{self.offer.resource: 0})

    def _end_idle(self, older: float, keep_one: Setup | None = None) -> None:
        """End processes that have been idle for longer, but for one of a set-up."""
        with self._lock:
            ending = [idle for idle in self._idle if time.monotonic() - idle.since >= older]
            kept = next((idle for idle in ending if idle.setup == keep_one), None)
            ending = [idle for idle in ending if idle is not kept]
            self._idle = [idle for idle in self._idle if idle not in ending]
        for idle in ending:
            idle.process.close()

    def _tidy(self) -> None:
        while not self._closed.wait(IDLE_SECONDS / 4):
            self._end_idle(IDLE_SECONDS)


@dataclass(frozen=True, eq=False)
class _Idle:
    """A process without work, and since when."""

    process: Worker
    setup: Setup
    since: float


class Turns:
    """Lets many be at work, or one alone; who waits to be alone goes before those that come later."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = 0
        self._waiting = 0
        self._alone = False

    @contextmanager
    def taken(self, alone: bool) -> Iterator[None]:
        """Be at work, and wait for that."""
        with self._changed:
            if alone:
                self._waiting += 1
                self._changed.wait_for(lambda: not self._busy and not self._alone)
                self._waiting -= 1
                self._alone = True
            else:
                self._changed.wait_for(lambda: not self._alone and not self._waiting)
                self._busy += 1
        try:
            yield
        finally:
            with self._changed:
                if alone:
                    self._alone = False
                else:
                    self._busy -= 1
                self._changed.notify_all()
