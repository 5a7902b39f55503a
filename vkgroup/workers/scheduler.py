"""The scheduler: gives the batches of a run to the workers of a backend, and yields the results.

A hang or a crash on a GPU may affect the devices of other workers, so a batch in which a worker failed runs
again when all others are done, in the only worker of the device at that time. If that worker fails as well,
the batch is split until one case is left. Failures near a worker failure run again in the same way
(`vkgroup.workers.retry.Quarantine`). Batches that may hang a GPU run alone from the start.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from typing import Any, Protocol

from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.base.phases import limited, update
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.record.record import NoVerdict, Result, ResultStream, TakeResults
from vkgroup.workers.describe import describe
from vkgroup.workers.messages import WorkerSetup
from vkgroup.workers.opening import open_device
from vkgroup.workers.pool import InProcessBackend, LocalBackend
from vkgroup.workers.retry import BatchOutcome, BatchResults, Quarantine, Retry, WorkBatch, WorkerFailure
from vkgroup.workers.worker_process import START_SECONDS

GRACE_SECONDS = 10.0
"""Seconds that running batches may still take when a run's time is over."""


MOST_WITHOUT_VERDICT = 16
"""Cases without a verdict after which a run ends: an error of vkgroup that affects many cases affects all."""


def model_of(capabilities: Capabilities) -> str:
    """Return a name that two devices share if one may stand for the other in a run.

    It depends on the device's name and kind, its driver, and everything by which cases are chosen and judged.
    Properties that differ between boards of a model (UUID, memory) are left out.
    """
    shared = (
        capabilities.name,
        capabilities.type,
        capabilities.driver_name,
        capabilities.driver_info,
        capabilities.api_version,
        capabilities.subgroup,
        capabilities.size_control,
        sorted(capabilities.features),
        sorted(capabilities.extensions.items()),
        sorted((name, str(value)) for name, value in capabilities.limits.items()),
        capabilities.cooperative_matrices,
    )
    return sha256(repr(shared).encode()).hexdigest()[:12]


def read_capabilities(device: DeviceInfo) -> Capabilities:
    """Open a device, read its capabilities, and close it, because workers open it themselves.

    The driver of an absent GPU can be loaded by a worker only.

    Raises NoDevice: the device executes nothing, and its name does not say so.
    """
    if device.own_process:
        return describe(device)
    with limited(START_SECONDS), open_device(device) as opened:
        opened.require_execution()
        capabilities = opened.capabilities
    update(device="")
    return capabilities


class DeviceSetup(WorkerSetup, Protocol):
    """A setup that can be made for another device of the same model."""

    def on(self, device: DeviceInfo) -> DeviceSetup:
        """Return the same setup for another device."""


class Backend(Protocol):
    """Workers that run batches on devices of one model, for one run."""

    @property
    def running(self) -> int:
        """The number of submitted batches whose outcome was not taken."""

    @property
    def problem(self) -> VkgroupError | None:
        """An error to raise at the end of the run: other workers have taken the batches over."""

    def submit(self, retry: Retry, alone: bool) -> bool:
        """Submit a batch; return False if all workers have enough. VkgroupError: no worker is left.

        `alone`: no other batch may run on the device at the same time.
        """

    def take(self, seconds: float) -> BatchOutcome | None:
        """Return the next outcome; None after the time limit in seconds, or after `close`."""

    def close(self) -> None:
        """Stop all batches, and end the workers."""


class BatchScheduler(ABC):
    """Distributes the batches of a run over devices of one model.

    `capabilities`: what every one of the devices can do.
    `devices`: the devices, as ``--device`` takes them.
    `jobs`: workers of all devices together.

    Attributes
    ----------
    peak_memory : the largest resident memory of a worker process in bytes; 0 if unknown.
    """

    def __init__(self, capabilities: Capabilities, devices: Sequence[str], jobs: int) -> None:
        self.capabilities = capabilities
        self.devices = devices
        self.jobs = jobs
        self.peak_memory = 0
        self._backend: Backend | None = None
        self._quarantine = Quarantine(is_gpu=False)
        self._reduce: Callable[[Any], WorkBatch] | None = None
        self._is_enough: Callable[[list[Result]], bool] | None = None
        self._ended = False

    @property
    def without_verdict(self) -> list[NoVerdict]:
        """Cases of the last run that have no verdict, because vkgroup or its host failed."""
        return self._quarantine.without_verdict

    @abstractmethod
    def connect(self, setup: DeviceSetup, deadline: float, start_early: bool) -> Backend:
        """Return the workers for a run; see `run`."""

    def run(
        self,
        setup: DeviceSetup,
        batches: Iterable[WorkBatch],
        *,
        deadline: float = math.inf,
        start_early: bool = False,
        reduce: Callable[[Any], WorkBatch] | None = None,
        is_enough: Callable[[list[Result]], bool] | None = None,
    ) -> ResultStream:
        """Run all batches, and yield results as they arrive.

        A caller that stops early closes the iterator. `drain` then returns the results that had arrived.

        `setup`: the first message to each worker; its device stands for all devices.
        `deadline`: the `time.monotonic` from which on no batch is started.
        `start_early`: start the workers before the first batch is planned, to save time where planning is
        slow.
        `reduce`: called with each batch before it is submitted; returns the batch with the cases that may
        still run.
        `is_enough`: called with the results of each batch, also with those that are not final yet; true ends
        the run.
        """
        self._quarantine = Quarantine(setup.device.is_gpu)
        self._reduce, self._is_enough, self._ended = reduce, is_enough, False
        backend = self._backend = self.connect(setup, deadline, start_early)
        parallel: deque[Retry] = deque()
        alone: list[Retry] = []
        try:
            may_hang = not setup.device.is_compile_only  # nothing is executed there
            for batch in batches:
                (alone if batch.alone and may_hang else parallel).append(Retry(batch))
            yield from self._run_phase(backend, parallel, deadline, alone=False)
            if results := self._quarantine.release(everything=True):
                yield results
            if self._ended:
                return
            self._quarantine.retries.extend(alone)
            yield from self._run_phase(backend, self._quarantine.retries, deadline, alone=True)
            if backend.problem is not None:
                raise backend.problem
        finally:
            backend.close()

    def _run_phase(
        self, backend: Backend, waiting: deque[Retry], deadline: float, *, alone: bool
    ) -> ResultStream:
        """Run all waiting batches, including those added meanwhile, and yield their final results."""
        while waiting or backend.running:
            if len(self.without_verdict) >= MOST_WITHOUT_VERDICT:
                return
            late = time.monotonic() - deadline
            if late >= (GRACE_SECONDS if backend.running else 0.0):
                return
            if late < 0:
                self._submit(backend, waiting, alone)
            outcome = backend.take(1.0 if backend.running else 0.2)
            if outcome is not None and outcome.answer is None:
                waiting.appendleft(outcome.retry)
            if results := self._quarantine.release() + self._finish(outcome):
                yield results
            if self._is_enough is not None and outcome is not None and isinstance(outcome.answer, list):
                self._ended = self._is_enough([one for one in outcome.answer if isinstance(one, Result)])
                if self._ended:
                    return

    def _submit(self, backend: Backend, waiting: deque[Retry], alone: bool) -> None:
        """Submit waiting batches until the workers have enough."""
        while waiting:
            if self._reduce is not None:
                batch = self._reduce(waiting[0].batch)
                if not len(batch):
                    waiting.popleft()
                    continue
                waiting[0] = replace(waiting[0], batch=batch)
            if not backend.submit(waiting[0], alone):
                return
            waiting.popleft()

    def _finish(self, outcome: BatchOutcome | None) -> list[Result]:
        """Return the final results of an outcome."""
        if outcome is None:
            return []
        self.peak_memory = max(self.peak_memory, outcome.memory)
        if outcome.answer is None:
            return []
        retry, answer = outcome.retry, outcome.answer
        if isinstance(answer, WorkerFailure):
            if outcome.alone:
                return outcome.with_origin(self._quarantine.finish(retry, answer, outcome.worker))
            self._quarantine.add_worker_failure(retry.batch, answer, outcome.worker)
            return []
        self.without_verdict.extend(entry for entry in answer if isinstance(entry, NoVerdict))
        results = [entry for entry in answer if isinstance(entry, Result)]
        if outcome.alone:
            return outcome.with_origin(self._quarantine.finish(retry, results, outcome.worker))
        return self._quarantine.add(BatchResults(retry.batch, outcome.with_origin(results)), outcome.worker)

    def drain(self) -> list[Result]:
        """Return the final results that `run` had no time to yield before it was closed."""
        results: list[Result] = []
        while self._backend is not None and (outcome := self._backend.take(0.0)) is not None:
            results += self._finish(outcome)
        return results + self._quarantine.release(everything=True)


def pass_on(stream: ResultStream, drain: Callable[[], list[Result]], take: TakeResults) -> None:
    """Pass the results of a run to `take`; when the run ends early, also those that had arrived."""
    try:
        with closing(stream):
            for results in stream:
                take(results)
    finally:
        if remaining := drain():
            take(remaining)


class LocalScheduler(BatchScheduler):
    """Devices of this host that share one run; retries run on the device on which the worker failed.

    `members`: the devices; one that is named twice has twice as many workers.
    `each`: worker processes of each device.
    `capabilities`: those of the first.
    """

    def __init__(self, members: Sequence[DeviceInfo], each: int, capabilities: Capabilities) -> None:
        super().__init__(capabilities, [device.choice for device in members], each * len(members))
        self.members = tuple(members)
        self.each = each

    @classmethod
    def of(cls, members: Sequence[DeviceInfo], each: int) -> LocalScheduler:
        """Return a scheduler for devices of one model."""
        known = [read_capabilities(device) for device in dict.fromkeys(members)]
        if len({model_of(capabilities) for capabilities in known}) > 1:
            names = ", ".join(
                f"{capabilities.name} ({capabilities.driver_name} {capabilities.driver_info})"
                for capabilities in known
            )
            raise InvalidInput(f"devices that differ cannot share a run: {names}; judge each in its own run")
        return cls(members, each, known[0])

    def connect(self, setup: DeviceSetup, deadline: float, start_early: bool) -> Backend:
        """Return the worker processes of all devices."""
        counts = Counter(self.members).items()
        names = {device: device.choice if len(self.members) > 1 else "" for device in self.members}
        pools = [(setup.on(device), self.each * count, names[device]) for device, count in counts]
        return LocalBackend(pools, deadline, start_early=start_early)


class InProcess(LocalScheduler):
    """Runs batches in this process, on one device."""

    def connect(self, setup: DeviceSetup, deadline: float, start_early: bool) -> Backend:
        """Return this process as the only worker."""
        return InProcessBackend(setup)
