"""Running the shader on a real device, in a process of its own."""

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
"""What a process says before it touches its device."""

_START_SECONDS = 60.0
"""Seconds that a process may take beyond its dispatch: to start, to open the device, to compile."""


@dataclass(frozen=True)
class Job:
    """One dispatch on one device.

    Attributes
    ----------
    device : where.
    module, entry_point, specialization : what.
    groups, bindings, push : on what; bindings by (set, binding), of several descriptors as lists.
    writable : the bindings to bring back.
    timeout : seconds that the dispatch may take.
    local_size : invocations of a workgroup in x, y and z.
    subgroup_size : the size to require; None leaves it to the device.
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
    """What became of a job.

    Attributes
    ----------
    outputs : arrays of the writable bindings.
    unsupported : what the device lacks; empty where nothing.
    failure : what went wrong on the device; empty where nothing.
    sizes : the subgroup sizes that the device can be made to use for this shader.
    """

    outputs: Mapping[tuple[int, int], Any] = field(default_factory=dict)
    unsupported: str = ""
    failure: str = ""
    sizes: tuple[int, ...] = ()


def bindings_of(inputs: Inputs) -> dict[tuple[int, int], Any]:
    """Return the arrays of all places, as `vkgroup.dispatch.Device.run` takes them."""
    found: dict[tuple[int, int], Any] = {}
    for entry in inputs.bindings:
        # Bytes of no type fit any block.
        values: list[Any] = [array.view("V1") if entry.format is None else array for array in entry.arrays]
        if entry.binding.kind == "sampler":
            values = [entry.sampler] * (entry.binding.count or 1)
        elif entry.binding.kind == "combined_image_sampler":
            values = [(array, entry.sampler) for array in entry.arrays]
        found[entry.place] = values[0] if entry.binding.count == 1 else values
    return found


def run_job(job: Job) -> Answer:
    """Run a job in a process of its own; a crash or hang becomes a sentence.

    Raises
    ------
    NoDevice
        The process died before it came to its device.
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
        found: Answer = receive(messages)
    except EOFError:
        return Answer(failure=f"the process {how}")
    return found


def outputs_of_answer(inputs: Inputs, answer: Answer) -> dict[Place, npt.NDArray[np.uint8]]:
    """Return the bytes of a device's outputs, by place."""
    found: dict[Place, npt.NDArray[np.uint8]] = {}
    for entry in inputs.bindings:
        if entry.place in answer.outputs:
            arrays = answer.outputs[entry.place]
            for number, array in enumerate([arrays] if entry.binding.count == 1 else arrays):
                found[(*entry.place, number)] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return found
