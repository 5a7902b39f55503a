"""Judging a run on a cluster: each batch goes to a free worker whose device is of the right model.

A Dask worker that dies costs time only: the Dask scheduler sends its batches to another one. Crashes of the
processes that judge are handled as in `vkgroup.runner.pool`: the batch runs again when all others are done
and no other runs on the device, and is split until one case is left. A batch in which several Dask workers
died one after another is handled in the same way.
"""

from __future__ import annotations

import math
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from queue import Empty, Queue
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

from vkgroup.device import Capabilities
from vkgroup.errors import InvalidInput, NoDevice
from vkgroup.results.record import AGAINST_THE_DEVICE, Result, ResultStream, Status
from vkgroup.runner.cluster import member
from vkgroup.runner.cluster.connecting import Cluster
from vkgroup.runner.cluster.member import Outcome
from vkgroup.runner.cluster.offer import Offer
from vkgroup.runner.pool import GRACE_SECONDS
from vkgroup.runner.retry import BatchResults, Quarantine, Retry, Work, WorkerFailure
from vkgroup.runner.scheduler import DeviceSetup

PATIENCE_SECONDS = 60.0
"""Seconds for which a run waits for a worker when no worker has the device."""

AHEAD = 2
"""Batches that are sent for each that can run at the same time, so that workers need not wait."""


class ClusterScheduler:
    """All workers of a cluster that have a device of one model; see `vkgroup.runner.scheduler.Scheduler`.

    Raises NoDevice: the workers are gone.
    """

    def __init__(self, cluster: Cluster, offer: Offer) -> None:
        self._cluster = cluster
        self._offer = offer
        members = self._members()
        self.devices: Sequence[str] = [f"{its.device.choice} on {its.host}" for its, _ in members.values()]
        self.jobs: int = sum(count for _, count in members.values())
        self._judging: _Judging | None = None
        exchange = _Exchange(cluster, offer, lambda: self._members())
        self.capabilities: Capabilities = exchange.ask(member.capabilities)

    def _members(self) -> dict[str, tuple[Offer, int]]:
        """Return the workers of the model that take batches."""
        return {
            address: (offer, count)
            for address, (offer, count) in self._cluster.workers().items()
            if offer.resource == self._offer.resource and count
        }

    def run(
        self,
        setup: DeviceSetup,
        batches: Iterable[Work],
        *,
        deadline: float = math.inf,
        start_early: bool = False,
    ) -> ResultStream:
        """Judge all batches; see `vkgroup.runner.scheduler.Scheduler`. The workers have started already."""
        exchange = _Exchange(self._cluster, self._offer, self._members)
        self._judging = _Judging(exchange, setup, deadline)
        try:
            yield from self._judging.run(batches)
        finally:
            exchange.close()

    def drain(self) -> list[Result]:
        """Return the final results that `run` had no time to yield before it was closed."""
        return [] if self._judging is None else self._judging.drain()


class _Exchange:
    """Sends batches to the workers, receives the outcomes, and watches which workers are left."""

    def __init__(
        self, cluster: Cluster, offer: Offer, members: Callable[[], dict[str, tuple[Offer, int]]]
    ) -> None:
        self._cluster = cluster
        self._offer = offer
        self._find = members
        self._members: dict[str, tuple[Offer, int]] = {}
        self._looked = 0.0
        self._seen = time.monotonic()
        self._name = f"vkgroup-{uuid.uuid4().hex[:8]}"
        self._count = 0
        self._ended: Queue[Any] = Queue()
        self._sent: dict[str, tuple[Any, Retry]] = {}
        self._refused = ""

    def __len__(self) -> int:
        """Return the number of batches that were sent and have no outcome."""
        return len(self._sent)

    def room(self, alone: bool) -> bool:
        """Return whether another batch may be sent: `AHEAD` for each free slot, or one for each worker."""
        self._look()
        counts = [1 if alone else AHEAD * count for _, count in self._members.values()]
        return len(self._sent) < sum(counts)

    def send(self, retry: Retry, setup: DeviceSetup, alone: bool) -> None:
        """Send a batch to a free worker."""
        future = self._submit(member.judge, setup, retry.batch, alone)
        self._sent[future.key] = (future, retry)
        future.add_done_callback(self._ended.put)

    def ask(self, function: Callable[[], Any]) -> Any:
        """Call a function on a worker, and return its result."""
        return self._result(self._submit(function))

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._count += 1
        return self._cluster.client.submit(
            function,
            *arguments,
            key=f"{self._name}-{self._count}",
            resources={self._offer.resource: 1},
            pure=False,
        )

    def take(self, seconds: float) -> tuple[Retry, Outcome] | None:
        """Return the next outcome and its batch; None if none arrives in so many seconds."""
        self._look()
        try:
            future = self._ended.get(timeout=seconds)
        except Empty:
            return None
        _, retry = self._sent.pop(future.key)
        try:
            outcome: Outcome = self._result(future)
        except KilledWorker as error:
            worker = error.last_worker.address
            self._looked = 0.0  # it is gone: count the workers again before the next batch is sent
            detail = f"workers of the cluster died of it one after another, {worker} last"
            outcome = Outcome(WorkerFailure(Status.CRASH, detail), worker, "", "")
        return retry, outcome

    def _result(self, future: Any) -> Any:
        """Return the result of a call on a worker."""
        try:
            return future.result()
        except KilledWorker:
            raise
        except OSError as error:
            if future.status != "error":
                raise self._gone() from error
            raise NoDevice(
                f"A worker of the cluster at {self._cluster.address} could not judge: {error}. What was "
                "judged is kept: see to that host, and continue with --resume."
            ) from error
        except (CancelledError, distributed.client.FutureCancelledError) as error:
            raise self._gone() from error
        except RuntimeError as error:
            if "deserializ" not in str(error):
                raise
            raise InvalidInput(
                f"The scheduler at {self._cluster.address} cannot read what is sent to it: start it where "
                "the same vkgroup is installed as here and on the workers."
            ) from error

    def refused(self, outcome: Outcome) -> None:
        """Keep the reason why a worker could not open its device; the worker has withdrawn."""
        self._refused = f" The last to go ({outcome.host}): {outcome.refused}"
        self._looked = 0.0

    def _look(self) -> None:
        """Update the list of workers, once a second; `NoDevice` if there was none for long."""
        now = time.monotonic()
        if now - self._looked < 1.0:
            return
        self._looked = now
        try:
            self._members = self._find()
        except OSError as error:
            raise self._gone() from error
        if self._members:
            self._seen = now
        elif now - self._seen > PATIENCE_SECONDS:
            raise NoDevice(
                f"No worker with {self._offer.device.name} is left in the cluster at {self._cluster.address}."
                f"{self._refused} What was judged is kept: continue with --resume when there is one."
            )

    def _gone(self) -> NoDevice:
        return NoDevice(
            f"The scheduler at {self._cluster.address} is gone. What was judged is kept: continue with "
            "--resume when it is back."
        )

    def close(self) -> None:
        """Cancel the batches that were sent."""
        if self._sent and self._cluster.client.status == "running":
            self._cluster.client.cancel([future for future, _ in self._sent.values()], force=True)
        self._sent.clear()


class _Judging:
    """One run: first the batches that may run side by side, then those that run alone."""

    def __init__(self, exchange: _Exchange, setup: DeviceSetup, deadline: float) -> None:
        self._exchange = exchange
        self._setup = setup
        self._deadline = deadline
        self._quarantine = Quarantine(setup.device.is_gpu)

    def run(self, batches: Iterable[Work]) -> ResultStream:
        """Judge all batches, and yield results as they arrive."""
        together: deque[Retry] = deque()
        last: list[Retry] = []
        for batch in batches:
            (last if batch.alone else together).append(Retry(batch))
        yield from filter(None, self._phase(together, alone=False, finish=self._finish_beside_others))
        if released := self.drain():
            yield released
        self._quarantine.retries.extend(last)
        yield from filter(None, self._phase(self._quarantine.retries, alone=True, finish=self._finish_alone))

    def drain(self) -> list[Result]:
        """Return the held failures that no worker failure can have caused."""
        return self._quarantine.release(everything=True)

    def _phase(
        self, waiting: deque[Retry], *, alone: bool, finish: Callable[[Retry, Outcome], list[Result]]
    ) -> ResultStream:
        """Send all waiting batches, including those added meanwhile, and yield their final results."""
        while waiting or len(self._exchange):
            late = time.monotonic() - self._deadline
            if late >= (GRACE_SECONDS if len(self._exchange) else 0.0):
                return  # batches that were sent are cancelled when the exchange closes
            while waiting and late < 0 and self._exchange.room(alone):
                self._exchange.send(waiting.popleft(), self._setup, alone)
            arrived = self._exchange.take(1.0 if len(self._exchange) else 0.2)
            yield self._quarantine.release()
            if arrived is None:
                continue
            retry, outcome = arrived
            if outcome.answer is None:
                self._exchange.refused(outcome)
                waiting.appendleft(retry)
            else:
                yield finish(retry, outcome)

    def _finish_beside_others(self, retry: Retry, outcome: Outcome) -> list[Result]:
        """Return the final results of a batch that ran beside others."""
        if isinstance(outcome.answer, WorkerFailure):
            self._quarantine.add_worker_failure(retry.batch, outcome.answer, outcome.worker)
            return []
        answer = BatchResults(retry.batch, _with_origin(outcome, outcome.answer or []))
        return self._quarantine.add(answer, outcome.worker)

    def _finish_alone(self, retry: Retry, outcome: Outcome) -> list[Result]:
        """Return the final results of a batch that ran alone on its device."""
        assert outcome.answer is not None
        return _with_origin(outcome, self._quarantine.finish(retry, outcome.answer, outcome.worker))


def _with_origin(outcome: Outcome, results: list[Result]) -> list[Result]:
    """Return results with the device that judged them, and failures with its host."""
    named = []
    for result in results:
        detail = result.detail
        if outcome.host and result.status in AGAINST_THE_DEVICE:
            detail = f"{detail}\njudged on the host {outcome.host}".strip()
        named.append(replace(result, device=outcome.device, detail=detail))
    return named
