"""The device of a Dask worker, and the worker processes that run batches on it.

The driver runs in these processes, so a driver that crashes or hangs never takes the Dask worker along. A
Dask worker has one device, and one process for each batch that runs at the same time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import distributed
from distributed.diagnostics.plugin import WorkerPlugin

from vkgroup.base.errors import NoDevice
from vkgroup.device import Capabilities
from vkgroup.record.record import NoVerdict, Result
from vkgroup.workers import retry
from vkgroup.workers.cluster.offer import KEY, Offer
from vkgroup.workers.retry import WorkBatch, WorkerFailure
from vkgroup.workers.scheduler import DeviceSetup
from vkgroup.workers.worker_process import SECONDS_PER_CASE, WorkerProcess, start_worker

IDLE_SECONDS = 30.0
"""Seconds after which an idle process is ended, and its device closed."""


@dataclass(frozen=True)
class BatchAnswer:
    """A Dask worker's answer to a batch."""

    #: Its results, or the failure of the process; None if no process could open the device.
    answer: list[Result | NoVerdict] | WorkerFailure | None
    #: `worker`, `host`, `device`: the Dask worker's address, its host, and the device as ``--device`` takes
    #: it there.
    worker: str
    host: str
    device: str
    withdrawal: str = ""  # why the device could not be opened
    memory: int = 0  # the peak memory of the process in bytes


def run_batch(setup: DeviceSetup, batch: WorkBatch, alone: bool) -> BatchAnswer:
    """Run a batch on the device of the Dask worker that calls this."""
    return _member().run(setup, batch, alone)


def capabilities() -> Capabilities:
    """Return the capabilities of the Dask worker's device."""
    return _member().capabilities


def _member() -> ClusterMember:
    member = distributed.get_worker().plugins[KEY]
    assert isinstance(member, ClusterMember)
    return member


class ClusterMember(WorkerPlugin):
    """A Dask worker's device, and the processes that run batches on it."""

    name = KEY

    def __init__(self, offer: Offer, capabilities: Capabilities) -> None:
        self.offer = offer
        self.capabilities = capabilities

    def setup(self, worker: Any) -> None:
        """Prepare the state, in the Dask worker's process."""
        self._worker = worker
        self._turns = Turns()
        self._idle: list[_Idle] = []
        self._lock = threading.Lock()
        self._opened = False
        self._closed = threading.Event()
        threading.Thread(target=self._end_idle_in_time, daemon=True).start()

    def teardown(self, worker: Any) -> None:
        """End all processes."""
        self._closed.set()
        self._end_idle(0.0)

    def run(self, setup: DeviceSetup, batch: WorkBatch, alone: bool) -> BatchAnswer:
        """Run a batch; see `run_batch`."""
        setup = setup.on(self.offer.device)
        with self._turns.taken(alone):
            if alone:
                self._end_idle(0.0, setup)
            try:
                process = self._take(setup)
            except NoDevice as error:
                self._withdraw()
                return self._answer(None, str(error))
            answer = retry.run_batch(process, batch, setup.timeout + SECONDS_PER_CASE * len(batch))
            if isinstance(answer, WorkerFailure):
                process.kill()
            else:
                with self._lock:
                    self._idle.append(_Idle(process, setup, time.monotonic()))
            return self._answer(answer, memory=process.peak_memory)

    def _answer(
        self, answer: list[Result | NoVerdict] | WorkerFailure | None, withdrawal: str = "", memory: int = 0
    ) -> BatchAnswer:
        device = self.offer.device.choice
        return BatchAnswer(answer, self._worker.address, self.offer.host, device, withdrawal, memory)

    def _take(self, setup: DeviceSetup) -> WorkerProcess:
        """Return an idle process with the same setup, else a new one."""
        with self._lock:
            for idle in self._idle:
                if idle.setup == setup:
                    self._idle.remove(idle)
                    return idle.process
        process = start_worker(setup, self._opened, self._closed.wait)
        self._opened = True
        return process

    def _withdraw(self) -> None:
        """Withdraw the device from the cluster, which then sends no batches here."""
        self._worker.loop.add_callback(self._worker.set_resources, **{self.offer.resource: 0})

    def _end_idle(self, older: float, except_setup: DeviceSetup | None = None) -> None:
        """End processes that have been idle for longer, except one with a given setup."""
        with self._lock:
            ending = [idle for idle in self._idle if time.monotonic() - idle.since >= older]
            spared = next((idle for idle in ending if idle.setup == except_setup), None)
            ending = [idle for idle in ending if idle is not spared]
            self._idle = [idle for idle in self._idle if idle not in ending]
        for idle in ending:
            idle.process.close()

    def _end_idle_in_time(self) -> None:
        while not self._closed.wait(IDLE_SECONDS / 4):
            self._end_idle(IDLE_SECONDS)


@dataclass(frozen=True, eq=False)
class _Idle:
    """An idle process, and the time since which it is idle."""

    process: WorkerProcess
    setup: DeviceSetup
    since: float


class Turns:
    """A readers-writer lock for batches; a batch that waits for exclusive access goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = 0
        self._waiting = 0
        self._alone = False

    @contextmanager
    def taken(self, alone: bool) -> Iterator[None]:
        """Hold the lock, after waiting for it."""
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
