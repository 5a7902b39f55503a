"""Worker setup for the suite: the device, the seed, and the function that judges a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from vkgroup.conformance.execute import Executor, Transform
from vkgroup.conformance.judge_batch import judge_batch
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.opening import open_device

Judge = Callable[[Executor, Any], Any]
"""Performs a job, such as judging the cases of a batch; a function of a module, because it is pickled."""


@dataclass(frozen=True)
class Setup:
    """The first message to a worker that judges batches; see `vkgroup.runner.messages.WorkerSetup`.

    Attributes
    ----------
    seed : seed of all data.
    timeout : seconds that one dispatch may take.
    transform : see `vkgroup.conformance.execute.Transform`; must be picklable.
    judge : performs the jobs.
    """

    device: DeviceInfo
    seed: int
    timeout: float
    transform: Transform | None = None
    judge: Judge = judge_batch

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
