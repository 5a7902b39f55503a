"""Runs of the shader on a real device, in a separate process that may crash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.inputs import Inputs
from vkgroup.check.runs import Place
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.device.limits import subgroup_size_problems
from vkgroup.device.requirements import missing
from vkgroup.errors import NoDevice, OutOfMemory, Unsupported, VkgroupError
from vkgroup.opening import open_device
from vkgroup.runner.messages import Failure
from vkgroup.runner.worker_process import WorkerDied, WorkerProcess
from vkgroup.spirv import Module

_START_SECONDS = 60.0
"""Time limit in seconds for everything but the dispatch: process start, opening the device, compilation."""


@dataclass(frozen=True)
class Job:
    """One dispatch on one device."""

    device: DeviceInfo  # the device to run on
    # `module`, `entry_point`, `specialization`: the shader
    module: Module
    entry_point: str
    specialization: Mapping[int | str, Any] | None
    groups: tuple[int, int, int]  # workgroup counts in x, y and z
    bindings: Mapping[tuple[int, int], Any]  # arrays by (set, binding); a list for an array of descriptors
    push: bytes  # bytes of the push constants
    writable: frozenset[tuple[int, int]]  # the bindings to return
    timeout: float  # time limit of the dispatch in seconds
    local_size: tuple[int, int, int]  # workgroup size in x, y and z
    subgroup_size: int | None = None  # the size to require; None leaves the choice to the device


@dataclass(frozen=True)
class Answer:
    """The result of a job."""

    outputs: Mapping[tuple[int, int], Any] = field(default_factory=dict)  # arrays of the writable bindings
    unsupported: str = ""  # missing features of the device; empty if none is missing
    failure: str = ""  # the error on the device; empty if there was none
    # the subgroup sizes that a pipeline may require of the device for this shader
    sizes: tuple[int, ...] = ()


def bindings_of(inputs: Inputs) -> dict[tuple[int, int], Any]:
    """Return the arrays of all bindings, in the form that `vkgroup.dispatch.Device.run` accepts."""
    bindings: dict[tuple[int, int], Any] = {}
    for entry in inputs.bindings:
        # Raw bytes ("V1") are accepted for any block.
        values: list[Any] = [array.view("V1") if entry.format is None else array for array in entry.arrays]
        if entry.binding.kind == "sampler":
            values = [entry.sampler] * (entry.binding.count or 1)
        elif entry.binding.kind == "combined_image_sampler":
            values = [(array, entry.sampler) for array in entry.arrays]
        bindings[entry.place] = values[0] if entry.binding.count == 1 else values
    return bindings


def run_job(job: Job) -> Answer:
    """Run a job in a separate process and describe a crash or hang in `Answer.failure`.

    Raises NoDevice: the process died before it opened the device.
    """
    seconds = job.timeout + _START_SECONDS
    try:
        worker = WorkerProcess(JobSession(job.device, job.timeout), start_seconds=seconds)
    except WorkerDied as error:
        raise NoDevice(f"The process for {job.device.name} does not start: {error}") from None
    try:
        answer: Answer | Failure = worker.ask(job, seconds)
    except WorkerDied as error:
        return Answer(failure=str(error))
    finally:
        worker.close()
    return Answer(failure=answer.message) if isinstance(answer, Failure) else answer


@dataclass(frozen=True)
class JobSession:
    """The first message to a worker that runs jobs, and its session; see `vkgroup.runner.messages`.

    Each job opens the device itself: an unsuitable device is an answer.
    """

    device: DeviceInfo
    timeout: float

    def open(self) -> JobSession:
        """Return the session."""
        return self

    def perform(self, job: Job) -> Answer:
        """Run a job; a missing feature or an error of the device becomes a sentence."""
        try:
            with open_device(job.device) as device:
                lacking = missing(job.module, device.capabilities, job.entry_point, job.subgroup_size)
                if lacking:
                    return Answer(unsupported=", ".join(lacking))
                results = device.run(
                    job.module,
                    job.groups,
                    job.bindings,
                    push=job.push or None,
                    entry_point=job.entry_point,
                    specialization=job.specialization,
                    timeout=job.timeout,
                    subgroup_size=job.subgroup_size,
                )
                outputs = {binding: results[binding] for binding in job.bindings if binding in job.writable}
                return Answer(outputs, sizes=_sizes(job, device.capabilities))
        except Unsupported as error:
            return Answer(unsupported=", ".join(error.missing) or str(error))
        except OutOfMemory as error:
            return Answer(unsupported=str(error))
        except VkgroupError as error:
            return Answer(failure=f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Do nothing: each job closes its device."""


def _sizes(job: Job, capabilities: Capabilities) -> tuple[int, ...]:
    """Return the subgroup sizes that may be required of the device for this shader."""
    control = capabilities.size_control
    powers = [1 << k for k in range(control.max_size.bit_length()) if 1 << k >= control.min_size]
    return tuple(
        size for size in powers if not subgroup_size_problems(size, False, job.local_size, capabilities)
    )


def outputs_of_answer(inputs: Inputs, answer: Answer) -> dict[Place, npt.NDArray[np.uint8]]:
    """Return the bytes of a device's outputs, by descriptor."""
    outputs: dict[Place, npt.NDArray[np.uint8]] = {}
    for entry in inputs.bindings:
        if entry.place in answer.outputs:
            arrays = answer.outputs[entry.place]
            for number, array in enumerate([arrays] if entry.binding.count == 1 else arrays):
                outputs[(*entry.place, number)] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return outputs
