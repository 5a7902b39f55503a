"""Targets that run a program: a device in a separate process, and the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from campaigns.random_programs.shader import HEAD, capacity, inputs
from vkgroup.base.errors import DeviceLost, DispatchTimeout, VkgroupError
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.programs.nodes import RandomProgram
from vkgroup.reference import interpreter
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.spirv import Module
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import open_device
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

Words = NDArray[np.uint32]
Transform = Callable[[bytes], bytes]
"""Rewrites a module before it reaches the device, to plant errors that must be detected."""

STEP_LIMIT = 1000
"""Trips of a loop after which the reference reports a hang; generated loops have only a few."""


@dataclass(frozen=True)
class Observation:
    """Outputs that a target wrote."""

    words: Words  # (invocations, capacity) uint32
    #: The same shape, bool: words that the specification leaves undefined; None if unknown.
    undefined: NDArray[np.bool_] | None = None
    complaint: str = ""  # fault of the program itself that the reference reports; empty if none


@dataclass(frozen=True)
class Task:
    """One dispatch."""

    module: bytes  # SPIR-V as bytes
    inputs: Words  # words of binding 0
    output_words: int  # number of words of binding 1, initially zero
    groups: int  # workgroups in x
    subgroup_size: int = 0  # required subgroup size; 0 leaves it to the device


@dataclass(frozen=True)
class TaskSetup:
    """The first message to a worker that runs tasks; see `vkgroup.workers.messages.WorkerSetup`."""

    device: DeviceInfo
    timeout: float

    def open(self) -> TaskSession:
        """Open the device; raises VkgroupError if that fails."""
        return TaskSession(open_device(self.device), self.timeout)


@dataclass(frozen=True)
class TaskSession:
    """An open device that runs tasks; see `vkgroup.workers.messages.WorkerSession`."""

    device: Device
    timeout: float

    def perform(self, task: Task) -> Words | Failure:
        """Return the words of a task's outputs; `Failure` if the device rejects the task."""
        try:
            with (
                self.device.buffer(task.inputs) as inputs,
                self.device.buffer(np.zeros(task.output_words, np.uint32)) as outputs,
                self.device.pipeline(
                    Module.from_bytes(task.module), subgroup_size=task.subgroup_size or None
                ) as pipeline,
                pipeline.bind({0: inputs, 1: outputs}) as bound,
            ):
                bound.dispatch((task.groups, 1, 1), timeout=self.timeout)
                return np.asarray(outputs.read(np.uint32, task.output_words))
        except (DispatchTimeout, DeviceLost):
            raise
        except VkgroupError as error:
            return Failure("error", f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Close the device."""
        self.device.close()


class Driver:
    """A Vulkan device in a separate process, which is restarted when it dies.

    A dispatch may take `timeout` seconds. A required subgroup size of 0 leaves it to the device.
    """

    def __init__(
        self,
        device: DeviceInfo,
        *,
        timeout: float = 20.0,
        subgroup_size: int = 0,
        transform: Transform | None = None,
    ) -> None:
        self.device, self.timeout, self.subgroup_size = device, timeout, subgroup_size
        self.transform = transform
        self._worker: WorkerProcess | None = None

    def observe(self, program: RandomProgram, module: Module) -> Observation | Failure:
        """Run a program; return `Failure` if the process dies or hangs, or the device rejects the module."""
        data = module.to_bytes()
        if self.transform is not None:
            data = self.transform(data)
        words = program.invocations * capacity(program)
        task = Task(data, inputs(program), words, program.groups, self.subgroup_size)
        is_fresh = self._worker is None
        if self._worker is None:
            self._worker = WorkerProcess(TaskSetup(self.device, self.timeout))
        try:
            # The dispatch has its own limit; this one is for compilers that hang.
            answer = self._worker.ask(task, 3 * self.timeout)
        except WorkerDied as error:
            self._worker = None
            if self.device.is_compile_only and not is_fresh:
                # The library in place of the kernel's driver crashes when its memory is used up.
                return self.observe(program, module)
            return Failure("crash", str(error))
        if isinstance(answer, Failure):
            if answer.kind != "error":
                self.close()
            return answer
        return Observation(answer.reshape(program.invocations, -1))

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


def assignment(program: RandomProgram, observation: Observation) -> NDArray[np.int64] | str:
    """Return subgroup × size + lane, (workgroups, invocations), or the reason why the records are invalid."""
    subgroup, lane, size = observation.words[:, :HEAD].astype(np.int64).T
    if (size != size[0]).any() or (lane >= size).any():
        return "gl_SubgroupSize and gl_SubgroupInvocationID contradict each other"
    lanes: NDArray[np.int64] = (subgroup * size + lane).reshape(program.groups, program.local_invocations)
    if any(len(np.unique(row)) != len(row) for row in lanes):
        return "two invocations of a workgroup share gl_SubgroupID and gl_SubgroupInvocationID"
    return lanes


def observe_reference(
    program: RandomProgram, module: Module, subgroup_size: int, lanes: NDArray[np.int64] | None = None
) -> Observation:
    """Run a program on the reference interpreter; `lanes` is as `assignment` returns it."""
    words = program.invocations * capacity(program)
    data = Memory(inputs(program).view(np.uint8).copy(), "inputs")
    outputs = Memory(np.zeros(4 * words, np.uint8), "outputs")
    outcome = interpreter.execute(
        interpreter.ExecutableShader(module),
        (program.groups, 1, 1),
        {(0, 0): [data], (0, 1): [outputs]},
        subgroup_size=subgroup_size,
        assignment=lanes,
        step_limit=STEP_LIMIT,
    )
    undefined = ~outputs.defined_elements((words,), 4)
    # Recording an undefined value is allowed; a decision that depends on one is a fault.
    events = [event for event in outcome.events if not _is_record(event)]
    complaint = f"{events[0].kind}: {events[0].message}" if events else ""
    shape = (program.invocations, -1)
    return Observation(outputs.data.view(np.uint32).reshape(shape), undefined.reshape(shape), complaint)


def _is_record(event: Event) -> bool:
    return event.kind == "undefined" and event.memory == "outputs" and event.offset >= 0
