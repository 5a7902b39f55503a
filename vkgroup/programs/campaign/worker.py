"""Tasks for a worker process: each runs one module on the worker's device and returns the output words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.errors import DeviceLost, DispatchTimeout, VkgroupError
from vkgroup.opening import open_device
from vkgroup.runner.messages import Failure
from vkgroup.spirv import Module

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Task:
    """One dispatch.

    Attributes
    ----------
    module : SPIR-V as bytes.
    inputs : words of binding 0.
    output_words : number of words of binding 1, initially zero.
    groups : workgroups in x.
    subgroup_size : required subgroup size; 0 leaves it to the device.
    """

    module: bytes
    inputs: Words
    output_words: int
    groups: int
    subgroup_size: int = 0


def perform(device: Device, task: Task, timeout: float) -> Words:
    """Run a task on an open device.

    Raises
    ------
    VkgroupError
        The device rejects the module or the dispatch.
    """
    module = Module.from_bytes(task.module)
    with (
        device.buffer(task.inputs) as inputs,
        device.buffer(np.zeros(task.output_words, np.uint32)) as outputs,
        device.pipeline(module, subgroup_size=task.subgroup_size or None) as pipeline,
        pipeline.bind({0: inputs, 1: outputs}) as bound,
    ):
        bound.dispatch((task.groups, 1, 1), timeout=timeout)
        return np.asarray(outputs.read(np.uint32, task.output_words))


@dataclass(frozen=True)
class TaskSetup:
    """The first message to a worker that runs tasks; see `vkgroup.runner.messages.WorkerSetup`."""

    device: DeviceInfo
    timeout: float

    def open(self) -> TaskSession:
        """Open the device; VkgroupError where that fails."""
        return TaskSession(open_device(self.device), self.timeout)


@dataclass(frozen=True)
class TaskSession:
    """An open device that runs tasks."""

    device: Device
    timeout: float

    def perform(self, task: Task) -> Words | Failure:
        """Return the words of a task's outputs; `Failure` where the device refuses the task.

        Raises
        ------
        DeviceLost, DispatchTimeout
            The device is unusable; the worker ends.
        """
        try:
            return perform(self.device, task, self.timeout)
        except (DispatchTimeout, DeviceLost):
            raise
        except VkgroupError as error:
            return Failure("error", f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Close the device."""
        self.device.close()
