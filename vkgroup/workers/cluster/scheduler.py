"""The backend of the scheduler on a Dask cluster: sends batches to the workers with a device of one model.

A Dask worker that dies costs time only: the Dask scheduler sends its batches to another one. A batch in which
several Dask workers died one after another has no verdict: drivers run in other processes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from queue import Empty, Queue
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

from vkgroup.base.errors import InvalidInput, NoDevice
from vkgroup.workers.cluster import member
from vkgroup.workers.cluster.connecting import Cluster
from vkgroup.workers.cluster.offer import Offer
from vkgroup.workers.pool import AHEAD
from vkgroup.workers.retry import BatchOutcome, Retry, WorkerFailure
from vkgroup.workers.scheduler import Backend, BatchScheduler, DeviceSetup

NO_WORKER_SECONDS = 60.0
"""Seconds for which a run waits for a worker when no worker has the device."""


class ClusterScheduler(BatchScheduler):
    """All workers of a cluster that have a device of one model.

    Raises NoDevice: the workers are gone.
    """

    def __init__(self, cluster: Cluster, offer: Offer) -> None:
        self._cluster = cluster
        self._offer = offer
        workers = workers_of_model(cluster, offer).values()
        capabilities = ClusterBackend(cluster, offer, None).ask(member.capabilities)
        devices = [f"{offer.device.choice} on {offer.host}" for offer, _ in workers]
        super().__init__(capabilities, devices, sum(count for _, count in workers))

    def connect(self, setup: DeviceSetup, deadline: float, start_early: bool) -> Backend:
        """Return the workers, which have started already."""
        return ClusterBackend(self._cluster, self._offer, setup)


def workers_of_model(cluster: Cluster, offer: Offer) -> dict[str, tuple[Offer, int]]:
    """Return the workers that take batches and have the model of an offer."""
    return {
        address: (worker, count)
        for address, (worker, count) in cluster.workers().items()
        if worker.resource == offer.resource and count
    }


class ClusterBackend:
    """The workers of one model; see `vkgroup.workers.scheduler.Backend`."""

    problem = None

    def __init__(self, cluster: Cluster, offer: Offer, setup: DeviceSetup | None) -> None:
        self._cluster = cluster
        self._offer = offer
        self._setup = setup
        self._workers: dict[str, tuple[Offer, int]] = {}
        self._updated = 0.0
        self._last_present = time.monotonic()
        self._name = f"vkgroup-{uuid.uuid4().hex[:8]}"
        self._count = 0
        self._ended: Queue[Any] = Queue()
        self._submitted: dict[str, tuple[Any, Retry, bool]] = {}
        self._withdrawal = ""

    @property
    def running(self) -> int:
        """The number of submitted batches whose outcome was not taken."""
        return len(self._submitted)

    def submit(self, retry: Retry, alone: bool) -> bool:
        """Submit a batch unless there are `AHEAD` for each that can run, or one for each worker."""
        self._update_workers()
        counts = [1 if alone else AHEAD * count for _, count in self._workers.values()]
        if len(self._submitted) >= sum(counts):
            return False
        future = self._call(member.run_batch, self._setup, retry.batch, alone)
        self._submitted[future.key] = (future, retry, alone)
        future.add_done_callback(self._ended.put)
        return True

    def ask(self, function: Callable[[], Any]) -> Any:
        """Call a function on a worker, and return its result."""
        return self._result(self._call(function))

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._count += 1
        return self._cluster.client.submit(
            function,
            *arguments,
            key=f"{self._name}-{self._count}",
            resources={self._offer.resource: 1},
            pure=False,
        )

    def take(self, seconds: float) -> BatchOutcome | None:
        """Return the next outcome; None if none arrives in so many seconds."""
        if not self._submitted:
            time.sleep(seconds)
            return None
        self._update_workers()
        try:
            future = self._ended.get(timeout=seconds)
        except Empty:
            return None
        _, retry, alone = self._submitted.pop(future.key)
        try:
            answer: member.BatchAnswer = self._result(future)
        except KilledWorker as error:
            worker = error.last_worker.address
            self._updated = 0.0  # it is gone: count the workers again before the next batch is submitted
            detail = f"workers of the cluster died of it one after another, {worker} last"
            return BatchOutcome(retry, WorkerFailure(None, detail), worker, alone=alone)
        if answer.answer is None:
            self._withdrawal = f" The last worker withdrew ({answer.host}): {answer.withdrawal}"
            self._updated = 0.0
        origin = answer.worker, answer.device, answer.host
        return BatchOutcome(retry, answer.answer, *origin, alone, answer.memory)

    def _result(self, future: Any) -> Any:
        """Return the result of a call on a worker."""
        try:
            return future.result()
        except KilledWorker:
            raise
        except OSError as error:
            if future.status != "error":
                raise self._scheduler_ended() from error
            raise NoDevice(
                f"A worker of the cluster at {self._cluster.address} could not run a batch: {error}. "
                "The results so far are saved. Repair that host, and continue with --resume."
            ) from error
        except (CancelledError, distributed.client.FutureCancelledError) as error:
            raise self._scheduler_ended() from error
        except RuntimeError as error:
            if "deserializ" not in str(error):
                raise
            raise InvalidInput(
                f"The scheduler at {self._cluster.address} cannot read the messages of vkgroup: start it "
                "where the same vkgroup is installed as here and on the workers."
            ) from error

    def _update_workers(self) -> None:
        """Update the list of workers, once a second; `NoDevice` if there was none for long."""
        now = time.monotonic()
        if now - self._updated < 1.0:
            return
        self._updated = now
        try:
            self._workers = workers_of_model(self._cluster, self._offer)
        except OSError as error:
            raise self._scheduler_ended() from error
        if self._workers:
            self._last_present = now
        elif now - self._last_present > NO_WORKER_SECONDS:
            raise NoDevice(
                f"No worker with {self._offer.device.name} is left in the cluster at {self._cluster.address}."
                f"{self._withdrawal} The results so far are saved. Start a worker, then continue with "
                "--resume."
            )

    def _scheduler_ended(self) -> NoDevice:
        return NoDevice(
            f"The scheduler at {self._cluster.address} has ended. The results so far are saved. "
            "Start it again, and continue with --resume."
        )

    def close(self) -> None:
        """Cancel the batches that were submitted."""
        if self._submitted and self._cluster.client.status == "running":
            futures = [future for future, _, _ in self._submitted.values()]
            self._cluster.client.cancel(futures, force=True)
        self._submitted.clear()
