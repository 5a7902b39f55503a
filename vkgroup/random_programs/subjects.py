"""Who runs a program: a device in a process of its own, or the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.device import DeviceInfo
from vkgroup.dispatch.events import Event
from vkgroup.random_programs.glsl import HEAD, capacity, inputs
from vkgroup.random_programs.nodes import Program
from vkgroup.random_programs.worker import Task, TaskSetup
from vkgroup.reference import interpreter
from vkgroup.reference.interpreter.memory import Memory
from vkgroup.reference.interpreter.values import HARD
from vkgroup.runner.messages import Failure
from vkgroup.runner.worker_process import WorkerDied, WorkerProcess
from vkgroup.spirv import Module

Words = NDArray[np.uint32]
Transform = Callable[[bytes], bytes]
"""Rewrites a module before it reaches the device, to plant errors that must be found."""

STEP_LIMIT = 1000
"""Rounds of a loop after which the reference calls it a hang; generated loops have a handful."""


@dataclass(frozen=True)
class Observation:
    """What a subject left in the outputs.

    Attributes
    ----------
    words : (invocations, capacity) uint32.
    undefined : the same shape, bool: words that the specification leaves undefined. None where nothing is
        known about that.
    complaint : what the reference found wrong with the program itself; empty if nothing.
    """

    words: Words
    undefined: NDArray[np.bool_] | None = None
    complaint: str = ""


class Driver:
    """A Vulkan device in a process of its own, which is started again when it dies.

    Parameters
    ----------
    device : which.
    timeout : seconds that one dispatch may take.
    subgroup_size : the required size; 0 leaves it to the device.
    transform : see `Transform`.
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

    def observe(self, program: Program, module: Module) -> Observation | Failure:
        """Run a program; `Failure` where the process dies or hangs, or the device refuses the module."""
        data = module.to_bytes()
        if self.transform is not None:
            data = self.transform(data)
        words = program.invocations * capacity(program)
        task = Task(data, inputs(program), words, program.groups, self.subgroup_size)
        if self._worker is None:
            self._worker = WorkerProcess(TaskSetup(self.device, self.timeout))
        try:
            # The dispatch has its own limit; this one is for compilers that never end.
            answer = self._worker.ask(task, 3 * self.timeout)
        except WorkerDied as error:
            self._worker = None
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


def assignment(program: Program, observation: Observation) -> NDArray[np.int64] | str:
    """Return which lane of which subgroup each invocation was, as the interpreter wants to be told.

    Returns
    -------
    (workgroups, invocations of one) subgroup × subgroup size + lane; or what is wrong with what was recorded.
    """
    subgroup, lane, size = observation.words[:, :HEAD].astype(np.int64).T
    if (size != size[0]).any() or (lane >= size).any():
        return "gl_SubgroupSize and gl_SubgroupInvocationID contradict each other"
    place: NDArray[np.int64] = (subgroup * size + lane).reshape(program.groups, program.local_invocations)
    if any(len(np.unique(row)) != len(row) for row in place):
        return "two invocations of a workgroup share gl_SubgroupID and gl_SubgroupInvocationID"
    return place


class Reference:
    """The interpreter."""

    def observe(
        self, program: Program, module: Module, subgroup_size: int, places: NDArray[np.int64] | None = None
    ) -> Observation:
        """Run a program.

        Parameters
        ----------
        subgroup_size : lanes of a subgroup.
        places : as `assignment` returns it; None is the linear one.
        """
        words = program.invocations * capacity(program)
        data = Memory(inputs(program).view(np.uint8).copy(), "inputs")
        outputs = Memory(np.zeros(4 * words, np.uint8), "outputs")
        outcome = interpreter.execute(
            interpreter.Program(module),
            (program.groups, 1, 1),
            {(0, 0): [data], (0, 1): [outputs]},
            subgroup_size=subgroup_size,
            assignment=places,
            step_limit=STEP_LIMIT,
        )
        undefined = np.zeros(words, np.bool_)
        if outputs.causes is not None:
            undefined |= (outputs.causes.reshape(words, -1) >= HARD).any(axis=1)
        # An undefined value that is recorded is no fault; one that decides something is.
        events = [event for event in outcome.events if not _is_record(event)]
        complaint = f"{events[0].kind}: {events[0].message}" if events else ""
        shape = (program.invocations, -1)
        return Observation(outputs.data.view(np.uint32).reshape(shape), undefined.reshape(shape), complaint)


def _is_record(event: Event) -> bool:
    return event.kind == "undefined" and event.memory == "outputs" and event.offset >= 0
