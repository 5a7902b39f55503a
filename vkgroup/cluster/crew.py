"""Judging a run on a cluster: batches go where a device of the model is free, results come as they are ready.

A Dask worker that dies loses time only: the scheduler sends its batches elsewhere. What processes die of is
handled as in `vkgroup.conformance.pool`: such a batch is judged again when all others are done and nobody
else is at work on a device, and split until the guilty case stands alone. A batch that several Dask workers
die of in a row, each as a whole, is treated alike.
"""

from __future__ import annotations

import math
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty, Queue
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

from vkgroup.cluster import member
from vkgroup.cluster.connecting import Cluster
from vkgroup.cluster.member import Outcome
from vkgroup.cluster.offer import Offer
from vkgroup.conformance.doubts import Doubts
from vkgroup.conformance.messages import Setup
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.pool import GRACE_SECONDS
from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status, TakeResults
from vkgroup.conformance.suspects import Answer, Death, Suspect
from vkgroup.device import Capabilities
from vkgroup.errors import InvalidInput, NoDevice

PATIENCE_SECONDS = 60.0
"""Seconds for which a run waits for a worker where none is left that has the device."""

AHEAD = 2
"""Batches that are sent for each that can be judged at once: workers need not wait for the next."""


class ClusterCrew:
    """All workers of a cluster whose device is of one model; see `vkgroup.conformance.crew.Crew`.

    Parameters
    ----------
    cluster : where they are. Workers that come later take part too.
    offer : of one of them.

    Raises
    ------
    NoDevice
        The workers are gone.
    """

    def __init__(self, cluster: Cluster, offer: Offer) -> None:
        self._cluster = cluster
        self._offer = offer
        members = self._members()
        self.devices: Sequence[str] = [f"{its.device.choice} on {its.host}" for its, _ in members.values()]
        self.jobs: int = sum(count for _, count in members.values())
        exchange = _Exchange(cluster, offer, lambda: self._members())
        self.capabilities: Capabilities = exchange.ask(member.capabilities)

    def _members(self) -> dict[str, tuple[Offer, int]]:
        """Return the workers of the model that take batches."""
        return {
            address: (offer, count)
            for address, (offer, count) in self._cluster.workers().items()
            if offer.resource == self._offer.resource and count
        }

    def judge(
        self,
        setup: Setup,
        batches: Iterable[Batch],
        on_results: TakeResults,
        *,
        deadline: float = math.inf,
        at_once: bool = False,
    ) -> None:
        """Judge all batches; see `vkgroup.conformance.crew.Crew`. The workers are there already.

        Raises
        ------
        NoDevice
            No worker with the device is left, or the scheduler went away.
        InvalidInput
            The scheduler has no vkgroup.
        """
        exchange = _Exchange(self._cluster, self._offer, self._members)
        try:
            _Judging(exchange, setup, on_results, deadline).run(batches)
        finally:
            exchange.close()


@dataclass(frozen=True)
class _Arrived:
    """What came back, and of whom."""

    suspect: Suspect
    outcome: Outcome


class _Exchange:
    """Sends work to the workers and takes what comes back, with an eye on who is left."""

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
        self._at_work: dict[str, tuple[Any, Suspect]] = {}
        self._refused = ""

    def __len__(self) -> int:
        """Return how many batches are at work."""
        return len(self._at_work)

    def room(self, alone: bool) -> bool:
        """Whether another batch may be sent: some for each that is judged at once, or one for each worker."""
        self._look()
        counts = [1 if alone else AHEAD * count for _, count in self._members.values()]
        return len(self._at_work) < sum(counts)

    def send(self, suspect: Suspect, setup: Setup, alone: bool) -> None:
        """Send a batch to whichever worker is free."""
        future = self._submit(member.judge, setup, suspect.batch, alone)
        self._at_work[future.key] = (future, suspect)
        future.add_done_callback(self._ended.put)

    def ask(self, function: Callable[[], Any]) -> Any:
        """Let a worker call a function, and wait for what it returns."""
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

    def take(self, seconds: float) -> _Arrived | None:
        """Return what came back of a batch; None where nothing came in so many seconds."""
        self._look()
        try:
            future = self._ended.get(timeout=seconds)
        except Empty:
            return None
        _, suspect = self._at_work.pop(future.key)
        try:
            outcome: Outcome = self._result(future)
        except KilledWorker as error:
            worker = error.last_worker.address
            death = Death(Status.CRASH, f"workers of the cluster died of it one after another, {worker} last")
            outcome = Outcome(death, worker, "", "")
        return _Arrived(suspect, outcome)

    def _result(self, future: Any) -> Any:
        """Return what a worker returned."""
        try:
            return future.result()
        except KilledWorker:
            raise
        except OSError as error:
            if future.status != "error":
                raise self._gone() from error
            raise NoDevice(
                f"A worker of the cluster at {self._cluster.address} could not judge: {error}. What was "
                "judged is kept: see to that host, and go on with --resume."
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
        """Keep why a worker's device could not be opened; it has taken itself out."""
        self._refused = f" The last to go ({outcome.host}): {outcome.refused}"
        self._looked = 0.0

    def _look(self) -> None:
        """See, once a second, who is left; `NoDevice` where nobody has been for long."""
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
                f"{self._refused} What was judged is kept: go on with --resume when there is one."
            )

    def _gone(self) -> NoDevice:
        return NoDevice(
            f"The scheduler at {self._cluster.address} went away. What was judged is kept: go on with "
            "--resume when it is back."
        )

    def close(self) -> None:
        """Take back what was sent."""
        if self._at_work and self._cluster.client.status == "running":
            self._cluster.client.cancel([future for future, _ in self._at_work.values()], force=True)
        self._at_work.clear()


class _Judging:
    """One run: first all that can be judged side by side, then what is judged alone."""

    def __init__(self, exchange: _Exchange, setup: Setup, on_results: TakeResults, deadline: float) -> None:
        self._exchange = exchange
        self._setup = setup
        self._on_results = on_results
        self._deadline = deadline
        self._doubts = Doubts(setup.device.is_gpu)

    def run(self, batches: Iterable[Batch]) -> None:
        """Judge all batches."""
        together: deque[Suspect] = deque()
        last: list[Suspect] = []
        for batch in batches:
            (last if batch.alone else together).append(Suspect(batch))
        try:
            self._turn(together, alone=False, arrived=self._beside_others)
        finally:
            # Where the run is interrupted, too: what was measured is kept, if no death made it doubtful.
            self._doubts.settle(now=True)
        self._doubts.suspects.extend(last)
        self._turn(self._doubts.suspects, alone=True, arrived=self._by_itself)

    def _turn(
        self, waiting: deque[Suspect], *, alone: bool, arrived: Callable[[Suspect, Outcome], None]
    ) -> None:
        """Send all that waits, and what comes to wait meanwhile, and take what comes back."""
        while waiting or len(self._exchange):
            late = time.monotonic() - self._deadline
            if late >= (GRACE_SECONDS if len(self._exchange) else 0.0):
                return  # what is under way is taken back when the exchange closes
            while waiting and late < 0 and self._exchange.room(alone):
                self._exchange.send(waiting.popleft(), self._setup, alone)
            back = self._exchange.take(1.0 if len(self._exchange) else 0.2)
            self._doubts.settle()
            if back is None:
                continue
            if back.outcome.answer is None:
                self._exchange.refused(back.outcome)
                waiting.appendleft(back.suspect)
            else:
                arrived(back.suspect, back.outcome)

    def _beside_others(self, suspect: Suspect, outcome: Outcome) -> None:
        """Take what a batch came to that was judged beside others."""
        if isinstance(outcome.answer, Death):
            self._doubts.died(suspect.batch, outcome.answer, outcome.worker)
        else:
            answer = Answer(suspect.batch, outcome.answer or [])
            self._doubts.answered(answer, partial(self._pass_on, outcome), outcome.worker)

    def _by_itself(self, suspect: Suspect, outcome: Outcome) -> None:
        """Take what a batch came to that was judged alone on its device."""
        assert outcome.answer is not None
        take = partial(self._pass_on, outcome)
        self._doubts.judged_alone(suspect, outcome.answer, take, outcome.worker)

    def _pass_on(self, outcome: Outcome, results: list[Result]) -> None:
        """Pass results on, with the device that judged them, and failures with the host that has it."""
        named = [replace(result, device=outcome.device) for result in results]
        if outcome.host:
            named = [_with_host(result, outcome.host) for result in named]
        if named:
            self._on_results(named)


def _with_host(result: Result, host: str) -> Result:
    if result.status not in AGAINST_THE_DEVICE:
        return result
    return replace(result, detail=f"{result.detail}\njudged on the host {host}".strip())
