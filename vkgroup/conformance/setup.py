"""Setup of a worker of the suite, and the judging of a batch on its device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from vkgroup.conformance.execute import Executor, Transform
from vkgroup.conformance.families import family_named
from vkgroup.conformance.plan import Batch
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.errors import DeviceLost, DispatchTimeout, VkgroupError
from vkgroup.opening import open_device
from vkgroup.results.record import Result, Status


def judge_batch(executor: Executor, batch: Batch) -> list[Result]:
    """Judge the cases of a batch, in their order; a batch that fails as a whole is split.

    After DeviceLost or DispatchTimeout the device is unusable, and none of the cases has a result.
    """
    start = time.perf_counter()
    try:
        verdicts = family_named(batch.family).judge(executor, batch.cases)
    except (DeviceLost, DispatchTimeout):
        raise
    except VkgroupError as error:
        if len(batch) > 1:
            return [result for part in batch.parts() for result in judge_batch(executor, part)]
        seconds = time.perf_counter() - start
        detail = f"{type(error).__name__}: {error}"
        return [Result(batch.cases[0].name, Status.FAIL, seconds, detail=detail)]
    share = (time.perf_counter() - start) / len(batch)
    return [verdict.result(case.name, share) for case, verdict in zip(batch.cases, verdicts, strict=True)]


Judge = Callable[[Executor, Any], Any]
"""Performs a job, such as judging the cases of a batch; a function of a module, because it is pickled."""


@dataclass(frozen=True)
class Setup:
    """The first message to a worker that judges batches; see `vkgroup.runner.messages.WorkerSetup`."""

    device: DeviceInfo
    seed: int  # seed of all data
    timeout: float  # seconds that one dispatch may take
    transform: Transform | None = None  # see `vkgroup.conformance.execute.Transform`; must be picklable
    judge: Judge = judge_batch  # performs the jobs

    def on(self, device: DeviceInfo) -> Setup:
        """Return the same setup for another device."""
        return replace(self, device=device)

    def open(self) -> ExecutorSession:
        """Open the device, and an executor on it; VkgroupError where that fails."""
        device = open_device(self.device, robust=False)
        executor = Executor(device, seed=self.seed, timeout=self.timeout, transform=self.transform)
        return ExecutorSession(device, executor, self.judge)


@dataclass(frozen=True)
class ExecutorSession:
    """An open device with an executor, and the function that performs jobs on it."""

    device: Device
    executor: Executor
    judge: Judge

    def perform(self, job: Any) -> Any:
        """Perform a job and return its answer; see `vkgroup.runner.messages.Session`."""
        return self.judge(self.executor, job)

    def close(self) -> None:
        """Close the executor and the device."""
        self.executor.close()
        self.device.close()
