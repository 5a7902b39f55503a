"""Schedulers for this host, and the model of a device, which the devices of one run share."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import sha256
from queue import Empty, Queue
from typing import Protocol

from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.errors import DeviceLost, DispatchTimeout, InvalidInput, VkgroupError
from vkgroup.opening import open_device
from vkgroup.results.record import Result, ResultStream, Status, TakeResults
from vkgroup.runner.messages import WorkerSetup
from vkgroup.runner.pool import LEAVE_SECONDS, Pool, WorkQueue
from vkgroup.runner.retry import Work


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
    """Open a device, read its capabilities, and close it, because workers open it themselves."""
    with open_device(device) as opened:
        return opened.capabilities


class DeviceSetup(WorkerSetup, Protocol):
    """A setup that can be made for another device of the same model."""

    def on(self, device: DeviceInfo) -> DeviceSetup:
        """Return the same setup for another device."""


class Scheduler(Protocol):
    """Distributes the batches of a run over devices of one model."""

    capabilities: Capabilities  # what every one of the devices can do
    devices: Sequence[str]  # the devices, as ``--device`` takes them
    jobs: int  # worker processes, of all devices together

    def run(
        self,
        setup: DeviceSetup,
        batches: Iterable[Work],
        *,
        deadline: float = math.inf,
        start_early: bool = False,
    ) -> ResultStream:
        """Judge all batches, and yield results as they arrive.

        A caller that stops early closes the iterator, and finds in `drain` what had arrived.

        `setup`: the first message to each worker; its device stands for all devices.
        `deadline`: the `time.monotonic` from which on no batch is started.
        `start_early`: start the workers before the first batch is planned, to save time where planning is
        slow.
        """

    def drain(self) -> list[Result]:
        """Return the final results that `run` had no time to yield before it was closed."""


def pass_on(stream: ResultStream, drain: Callable[[], list[Result]], take: TakeResults) -> None:
    """Pass the results of a run to `take`; after an interruption or an error, also those that had arrived."""
    try:
        with closing(stream):
            for results in stream:
                take(results)
    finally:
        if remaining := drain():
            take(remaining)


class LocalScheduler:
    """Devices of this host that share one run: each takes a batch when it has finished its last.

    Each device has its own pool of workers. Batches that may hang a GPU run last, in one worker of each
    device. Retries run on the device on which the worker failed.

    `members`: the devices; one that is named twice has twice as many workers.
    `each`: worker processes of each device.
    `capabilities`: those of the first.
    """

    def __init__(self, members: Sequence[DeviceInfo], each: int, capabilities: Capabilities) -> None:
        self.members = tuple(members)
        self.each = each
        self.devices: Sequence[str] = [device.choice for device in members]
        self.jobs = each * len(members)
        self.capabilities = capabilities
        self._pools: dict[DeviceInfo, Pool] = {}
        self._threads: list[threading.Thread] = []
        self._arrived: Queue[list[Result] | BaseException | None] = Queue()

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

    def run(
        self,
        setup: DeviceSetup,
        batches: Iterable[Work],
        *,
        deadline: float = math.inf,
        start_early: bool = False,
    ) -> ResultStream:
        """Judge each batch on the first device that is free; see `Scheduler`."""
        self._pools = {
            device: Pool(setup.on(device), self.each * count, deadline)
            for device, count in Counter(self.members).items()
        }
        if len(self._pools) == 1:
            (pool,) = self._pools.values()
            for results in pool.run(batches, start_early=start_early):
                yield self._with_device(self.members[0], results)
            return
        queue = WorkQueue(None if start_early else batches)
        self._threads = [
            threading.Thread(target=self._run_pool, args=(device, queue, start_early), daemon=True)
            for device in self._pools
        ]
        try:
            for thread in self._threads:
                thread.start()
            if start_early:
                queue.fill(batches)
            yield from self._collect()
        finally:
            for pool in self._pools.values():
                pool.stop()

    def _run_pool(self, device: DeviceInfo, queue: WorkQueue, start_early: bool) -> None:
        """Pass on the results of one device's pool, until the queue is empty."""
        try:
            for results in self._pools[device].share(queue, start_early=start_early):
                self._arrived.put(self._with_device(device, results))
        except BaseException as error:
            self._arrived.put(error)
        finally:
            self._arrived.put(None)

    def _collect(self) -> ResultStream:
        """Yield the results of all pools; the first error is raised when the other pools have finished."""
        running = len(self._pools)
        problem: BaseException | None = None
        while running and (problem is None or isinstance(problem, VkgroupError)):
            item = self._arrived.get()
            if item is None:
                running -= 1
            elif isinstance(item, BaseException):
                problem = problem or item
            else:
                yield item
        if problem is not None:
            raise problem

    def drain(self) -> list[Result]:
        """Return the final results that `run` had no time to yield before it was closed."""
        if not self._threads:
            return [
                result
                for device, pool in self._pools.items()
                for result in self._with_device(device, pool.drain())
            ]
        for thread in self._threads:
            thread.join(2 * LEAVE_SECONDS)
        results: list[Result] = []
        with suppress(Empty):
            while True:
                item = self._arrived.get_nowait()
                if isinstance(item, list):
                    results += item
        return results

    def _with_device(self, device: DeviceInfo, results: list[Result]) -> list[Result]:
        """Return results with the device that judged them, where several share the run."""
        if len(self.members) == 1:
            return results
        return [replace(result, device=device.choice) for result in results]


class InProcess:
    """Judges batches in this process; see `vkgroup.runner.scheduler.Scheduler`."""

    def __init__(self, device: DeviceInfo, capabilities: Capabilities, jobs: int) -> None:
        self.devices: Sequence[str] = (device.choice,)
        self.capabilities = capabilities
        self.jobs = jobs

    def run(
        self,
        setup: DeviceSetup,
        batches: Iterable[Work],
        *,
        deadline: float = math.inf,
        start_early: bool = False,
    ) -> ResultStream:
        """Judge all batches, and yield results as they arrive; a lost device is opened again."""
        waiting = deque(batches)
        while waiting and time.monotonic() < deadline:
            with closing(setup.open()) as session:
                while waiting and time.monotonic() < deadline:
                    batch = waiting.popleft()
                    try:
                        yield session.perform(batch)
                    except (DeviceLost, DispatchTimeout) as error:
                        if len(batch) == 1:
                            status = Status.TIMEOUT if isinstance(error, DispatchTimeout) else Status.CRASH
                            yield [Result(batch.cases[0].name, status, detail=str(error))]
                        else:
                            waiting.extendleft(reversed(batch.parts()))
                        break

    def drain(self) -> list[Result]:
        """Return nothing: every result is yielded at once."""
        return []
