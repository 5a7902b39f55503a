"""Runs of the shader on a real device, in a separate process that may crash."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup import processes
from vkgroup.check.inputs import Inputs
from vkgroup.check.runs import Place
from vkgroup.device import DeviceInfo
from vkgroup.errors import NoDevice
from vkgroup.processes import receive, send
from vkgroup.spirv import Module

READY = "ready"
"""First message of a process, sent before it opens the device."""

_START_SECONDS = 60.0
"""Time limit in seconds for everything but the dispatch: process start, opening the device, compilation."""


@dataclass(frozen=True)
class Job:
    """One dispatch on one device.

    Attributes
    ----------
    device : the device to run on.
    module, entry_point, specialization : the shader.
    groups : workgroup counts in x, y and z.
    bindings : arrays by (set, binding); a list for an array of descriptors.
    push : bytes of the push constants.
    writable : the bindings to return.
    timeout : time limit of the dispatch in seconds.
    local_size : workgroup size in x, y and z.
    subgroup_size : the size to require; None leaves the choice to the device.
    """

    device: DeviceInfo
    module: Module
    entry_point: str
    specialization: Mapping[int | str, Any] | None
    groups: tuple[int, int, int]
    bindings: Mapping[tuple[int, int], Any]
    push: bytes
    writable: frozenset[tuple[int, int]]
    timeout: float
    local_size: tuple[int, int, int]
    subgroup_size: int | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a job.

    Attributes
    ----------
    outputs : arrays of the writable bindings.
    unsupported : missing features of the device; empty if none is missing.
    failure : the error on the device; empty if there was none.
    sizes : the subgroup sizes that a pipeline may require of the device for this shader.
    """

    outputs: Mapping[tuple[int, int], Any] = field(default_factory=dict)
    unsupported: str = ""
    failure: str = ""
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

    Raises
    ------
    NoDevice
        The process died before it opened the device.
    """
    message = io.BytesIO()
    send(message, job)
    try:
        done = subprocess.run(
            processes.command("vkgroup.check.device_worker"),
            input=message.getvalue(),
            capture_output=True,
            timeout=job.timeout + _START_SECONDS,
            env=processes.environment(),
        )
    except subprocess.TimeoutExpired:
        return Answer(failure=f"no answer within {job.timeout + _START_SECONDS:g} s")
    how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else "died"
    how += "".join(
        f"; it printed: {line}" for line in done.stderr.decode("utf-8", "replace").splitlines()[-1:]
    )
    messages = io.BytesIO(done.stdout)
    try:
        receive(messages)
    except EOFError:
        raise NoDevice(f"The process for {job.device.name} {how}") from None
    try:
        answer: Answer = receive(messages)
    except EOFError:
        return Answer(failure=f"the process {how}")
    return answer


def outputs_of_answer(inputs: Inputs, answer: Answer) -> dict[Place, npt.NDArray[np.uint8]]:
    """Return the bytes of a device's outputs, by descriptor."""
    outputs: dict[Place, npt.NDArray[np.uint8]] = {}
    for entry in inputs.bindings:
        if entry.place in answer.outputs:
            arrays = answer.outputs[entry.place]
            for number, array in enumerate([arrays] if entry.binding.count == 1 else arrays):
                outputs[(*entry.place, number)] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return outputs
