"""Runs of the shader on the reference device, one for each configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.findings import Configuration
from vkgroup.check.inputs import Inputs, memory_of
from vkgroup.check.module_usage import reads_of
from vkgroup.reference.interpreter import Cause, Event, Outcome, execute
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.arrangement import Arrangement, shuffled
from vkgroup.reference.interpreter.values.value import BEFORE_HARD

Place = tuple[int, int, int]
"""Set, binding and array index of a descriptor."""

_DISTURBING = ("hang", "barrier", "race", "bounds")
"""Events that make the outputs meaningless for a comparison."""


@dataclass
class Run:
    """The result of one run.

    Attributes
    ----------
    configuration : parameters of the run.
    outputs : bytes of every writable buffer and image.
    causes : for each byte of each output, 0 if it is defined, else the cause as in `Memory.causes`.
    events : errors during the run.
    """

    configuration: Configuration
    outputs: dict[Place, npt.NDArray[np.uint8]]
    causes: dict[Place, npt.NDArray[np.uint16]] = field(default_factory=dict)
    events: tuple[Event, ...] = ()

    @property
    def disturbed(self) -> bool:
        """Whether an event made the outputs meaningless."""
        return any(event.kind in _DISTURBING for event in self.events)


@dataclass(frozen=True)
class Dispatch:
    """A dispatch without its configuration.

    Attributes
    ----------
    program : the shader, ready to execute.
    groups : workgroup counts.
    inputs : bound resources and push constants.
    seed : seed of the shuffled assignments.
    step_limit : limit of loop iterations; a longer loop is reported as a hang.
    timeout : time limit of a run in seconds.
    """

    program: Program
    groups: tuple[int, int, int]
    inputs: Inputs
    seed: int
    step_limit: int
    timeout: float

    def run(self, configuration: Configuration, *, races: bool = True, program: Program | None = None) -> Run:
        """Run once on the reference device.

        Raises
        ------
        DispatchTimeout
            The run took longer than `timeout`.
        """
        resources = self.inputs.resources()
        events = list(self.execute(configuration, resources, races=races, program=program).events)
        outputs = outputs_of(self.inputs, resources)
        for memory in outputs.values():
            if BEFORE_HARD in memory.stored_causes:
                events.append(self._unwritten(configuration, memory))
        return Run(
            configuration,
            {place: memory.data for place, memory in outputs.items()},
            {place: causes_of(memory) for place, memory in outputs.items()},
            tuple(events),
        )

    def _unwritten(self, configuration: Configuration, memory: Memory) -> Event:
        """Return the event for an output that depends on memory that was not written before the dispatch."""
        position, number = memory.stored_causes[BEFORE_HARD]
        fresh = [entry for entry in self.inputs.bindings if not entry.defined]
        names = " or ".join(entry.name for entry in fresh)
        reads = reads_of(
            self.program.module,
            frozenset(
                variable
                for variable, place in self.program.bindings.items()
                if place in {entry.place for entry in fresh}
            ),
        )
        detail = f"{names} is read before it is written"
        cause = Cause("uninitialised", detail, reads[0] if len(reads) == 1 else -1)
        first = int(np.argmax(memory.causes == BEFORE_HARD)) if memory.causes is not None else 0
        return Event(
            "undefined",
            f"{memory.name} holds an undefined value at the end",
            position,
            self.arrangement(configuration).invocation(number),
            memory=memory.name,
            offset=first * memory.granule,
            cause=cause,
        )

    def arrangement(self, configuration: Configuration) -> Arrangement:
        """Return the assignment of invocations to subgroups and lanes."""
        size = self.program.local_size
        total = self.groups[0] * self.groups[1] * self.groups[2]
        assignment = shuffled(size, total, self.seed) if configuration.shuffled else None
        return Arrangement(self.groups, size, configuration.subgroup_size, assignment)

    def execute(
        self,
        configuration: Configuration,
        resources: dict[tuple[int, int], list[Any]],
        *,
        races: bool = False,
        watch: set[tuple[tuple[int, int, int], tuple[int, int, int]]] | None = None,
        program: Program | None = None,
    ) -> Outcome:
        """Execute on the given resources and return the interpreter's outcome."""
        return execute(
            program or self.program,
            self.groups,
            resources,
            self.inputs.push,
            subgroup_size=configuration.subgroup_size,
            shuffle=self.seed if configuration.shuffled else None,
            races=races,
            step_limit=self.step_limit,
            watch=watch,
            deadline=self.timeout,
        )


def outputs_of(inputs: Inputs, resources: dict[tuple[int, int], list[Any]]) -> dict[Place, Memory]:
    """Return the memories that a shader may write, by descriptor."""
    outputs = {}
    for entry in inputs.bindings:
        if not entry.binding.writable:
            continue
        for number, resource in enumerate(resources[entry.place]):
            memory = memory_of(resource)
            if memory is not None:
                outputs[(*entry.place, number)] = memory
    return outputs


def causes_of(memory: Memory) -> npt.NDArray[np.uint16]:
    """Return the cause of each byte of a memory."""
    if memory.causes is None:
        return np.zeros(memory.nbytes, np.uint16)
    return np.repeat(memory.causes, memory.granule)[: memory.nbytes]
