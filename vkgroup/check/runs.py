"""Runs of the checked shader on the reference device: dispatch, execution, and outputs."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.findings import FindingKind, RunParameters
from vkgroup.check.influence import GeneratedInfluence, influence_of
from vkgroup.check.inputs import DispatchInputs, memory_of
from vkgroup.reference.interpreter import Event, EventCause, ExecutionOutcome, Invocation, execute
from vkgroup.reference.interpreter.execution.execute import arrange
from vkgroup.reference.interpreter.execution.models import ExecutionModel
from vkgroup.reference.interpreter.execution.observers import Observer
from vkgroup.reference.interpreter.execution.paths import Parting
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.execution.work import WorkBudget
from vkgroup.reference.interpreter.operations.images import ImageMemory
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.values.arrangement import Arrangement
from vkgroup.reference.interpreter.values.value import BEFORE_HARD
from vkgroup.spirv import Module

Place = tuple[int, int, int]
"""Set, binding and array index of a descriptor."""

Flags = npt.NDArray[np.bool_]

_DISTURBING = ("hang", "barrier", "race", "bounds", "abort")
"""Events that make the outputs meaningless for a comparison."""


@dataclass
class CheckedRun:
    """The result of one run."""

    configuration: RunParameters  # parameters of the run
    # bytes of every writable buffer and image
    outputs: dict[Place, npt.NDArray[np.uint8]] = field(default_factory=dict)
    # for each byte of each output, 0 if it is defined, else the cause as in `Memory.causes`
    causes: dict[Place, npt.NDArray[np.uint16]] = field(default_factory=dict)
    # for each byte of each output, whether an invocation wrote it; without outputs of which that is unknown
    written: dict[Place, Flags] = field(default_factory=dict)
    events: tuple[Event, ...] = ()  # errors during the run
    # for the position of each executed instruction, the most invocations that executed it together
    executed: Mapping[int, int] = field(default_factory=dict)
    # end of the farthest access beyond each buffer, in bytes, by (set, binding)
    reached: dict[tuple[int, int], int] = field(default_factory=dict)
    # layers, width, height and depth that the accesses outside of each image need, by (set, binding)
    needed: dict[tuple[int, int], npt.NDArray[np.int64]] = field(default_factory=dict)
    work: int = 0  # the work of the run, as in `WorkBudget`
    ended: bool = True  # whether it ended before the limit of its work
    # by the positions of group operations: how invocations parted that were not together there
    partings: Mapping[int, Parting] = field(default_factory=dict)
    parted: bool = True  # as in `ExecutionOutcome`

    @property
    def serious_events(self) -> list[Event]:
        """The events except racing writes of the same value, after which all outputs have their meaning."""
        return [event for event in self.events if event.kind != FindingKind.SAME_VALUE]

    @property
    def disturbed(self) -> bool:
        """Whether an event made the outputs meaningless."""
        return any(event.kind in _DISTURBING for event in self.events)


@dataclass(frozen=True)
class CheckedDispatch:
    """A dispatch without its configuration."""

    program: ExecutableShader  # the shader, ready to execute
    groups: tuple[int, int, int]  # workgroup counts
    inputs: DispatchInputs  # bound resources and push constants
    seed: int  # seed of the shuffled assignments
    step_limit: int  # limit of loop iterations; a longer loop is reported as a hang
    timeout: float | None  # time limit of a run in seconds; None for none
    work_limit: float = math.inf  # work after which a run stops before its end
    chose_groups: bool = False  # whether `groups` was chosen, because none was given

    def remade(self, module: Module) -> ExecutableShader:
        """Return the program of a changed module."""
        # What is supported is known.
        return ExecutableShader(module, self.program.entry.name, whole=False)

    def instrumented(
        self, instrument: Instrument, positions: Container[int] | None = None
    ) -> ExecutableShader:
        """Return the program with an instrument; `positions` as for `ExecutableShader.instrumented`."""
        return self.program.instrumented(instrument, positions)

    @cached_property
    def has_floats(self) -> bool:
        """Whether the shader has floats, whose results may be rounded."""
        return any(entry.name == "OpTypeFloat" for entry in self.program.module.instructions)

    @cached_property
    def generated(self) -> GeneratedInfluence:
        """The influence of its generated inputs."""
        return GeneratedInfluence(self.program.module, self.inputs)

    def run(
        self,
        configuration: RunParameters,
        *,
        races: bool = True,
        program: ExecutableShader | None = None,
        with_outputs: bool = True,
    ) -> CheckedRun:
        """Run once on the reference device.

        `with_outputs`: whether the result has `CheckedRun.outputs` and `causes`, which may be large.

        Raises DispatchTimeout: the run took longer than `timeout`.
        """
        resources, work = self.inputs.resources(), WorkBudget(self.work_limit)
        outcome = self.execute(configuration, resources, races=races, program=program, work=work)
        outputs = outputs_of(self.inputs, resources)
        unwritten = [memory for memory in outputs.values() if BEFORE_HARD in memory.stored_causes]
        events = [*outcome.events, *(self._unwritten(configuration, memory) for memory in unwritten)]
        causes = {
            place: np.zeros(memory.nbytes, np.uint16)
            if memory.causes is None
            else np.repeat(memory.causes, memory.granule)[: memory.nbytes]
            for place, memory in (outputs.items() if with_outputs else ())
        }
        written = {
            place: np.repeat(memory.written, memory.granule)[: memory.nbytes]
            for place, memory in (outputs.items() if with_outputs else ())
            if memory.written is not None
        }
        return CheckedRun(
            configuration,
            {place: memory.data for place, memory in outputs.items()} if with_outputs else {},
            causes,
            written,
            tuple(events),
            outcome.executed,
            *_outside(self.inputs, resources),
            work.spent,
            not work.is_spent,
            outcome.partings,
            outcome.parted,
        )

    def _unwritten(self, configuration: RunParameters, memory: Memory) -> Event:
        """Return the event for an output that depends on memory that was not written before the dispatch."""
        position, number = memory.stored_causes[BEFORE_HARD]
        fresh = [entry for entry in self.inputs.bindings if not entry.defined]
        names = " or ".join(entry.name for entry in fresh)
        places = {entry.place for entry in fresh}
        reads = influence_of(self.program.module).reads_of(
            {variable for variable, place in self.program.bindings.items() if place in places}
        )
        detail = f"{names} is read before it is written"
        cause = EventCause("uninitialised", detail, reads[0] if len(reads) == 1 else -1)
        first = int(np.argmax(memory.causes == BEFORE_HARD)) if memory.causes is not None else 0
        return Event(
            "undefined",
            f"{memory.label} holds an undefined value at the end",
            position,
            self.invocation(configuration, number),
            memory=memory.name,
            offset=first * memory.granule,
            cause=cause,
        )

    def arrangement(self, configuration: RunParameters) -> Arrangement:
        """Return the assignment of invocations to subgroups and lanes."""
        return arrange(
            self.program,
            self.groups,
            configuration.subgroup_size,
            self.seed if configuration.shuffled else None,
            model=ExecutionModel.of(configuration.model),
        )

    def invocation(self, configuration: RunParameters, number: int) -> Invocation:
        """Return an invocation by its number in a run."""
        return self.arrangement(configuration).invocation(number)

    def example_invocations(self, configuration: RunParameters, most: int) -> list[Invocation]:
        """Return up to `most` invocations of the first workgroup."""
        number = min(most, self.arrangement(configuration).per_workgroup)
        return [self.invocation(configuration, index) for index in range(number)]

    def known_writer(
        self, configuration: RunParameters, place: Place, offset: int
    ) -> tuple[Invocation, int] | None:
        """Return invocation and position that wrote a byte, if no store writes this output; else None."""
        return None

    def execute(
        self,
        configuration: RunParameters,
        resources: dict[tuple[int, int], list[Any]],
        *,
        races: bool = False,
        watch: set[tuple[tuple[int, int, int], tuple[int, int, int]]] | None = None,
        program: ExecutableShader | None = None,
        work: WorkBudget | None = None,
        observer: Observer | None = None,
    ) -> ExecutionOutcome:
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
            observer=observer,
            deadline=self.timeout,
            work=work,
            model=ExecutionModel.of(configuration.model),
        )


def _outside(
    inputs: DispatchInputs, resources: dict[tuple[int, int], list[Any]]
) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], npt.NDArray[np.int64]]]:
    """Return `reached` and `needed` of `CheckedRun`, only of buffers and images with such accesses."""
    reached, needed = {}, {}
    for entry in inputs.bindings:
        memories = [memory for each in resources[entry.place] if (memory := memory_of(each)) is not None]
        if end := max((memory.reached for memory in memories), default=0):
            reached[entry.place] = end
        extents = [each.needed for each in memories if isinstance(each, ImageMemory) and each.needed.any()]
        if extents:
            needed[entry.place] = np.max(extents, axis=0)
    return reached, needed


def outputs_of(inputs: DispatchInputs, resources: dict[tuple[int, int], list[Any]]) -> dict[Place, Memory]:
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
