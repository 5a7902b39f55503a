"""Execution of a program slice by slice: a dispatch, or one stage of a draw."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vkgroup.base.byte_sizes import size_text
from vkgroup.base.errors import OutOfMemory, Unsupported
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.machine import Machine
from vkgroup.reference.interpreter.execution.models import FULL, ExecutionModel
from vkgroup.reference.interpreter.execution.observers import (
    ExecutedInstruction,
    InstructionTrace,
    Observer,
)
from vkgroup.reference.interpreter.execution.paths import Parting
from vkgroup.reference.interpreter.execution.program import ExecutableShader, initialise
from vkgroup.reference.interpreter.execution.work import WorkBudget
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.operations.state import Bindings, Resources
from vkgroup.reference.interpreter.program.interface import StageInputs
from vkgroup.reference.interpreter.values.arrangement import (
    Arranged,
    Arrangement,
    ArrangementPart,
    Groups,
    in_quads,
    linear,
    shuffled,
    spread,
)
from vkgroup.reference.interpreter.values.event_log import EventLog
from vkgroup.reference.interpreter.values.value import Leaf
from vkgroup.spec.limits import QUAD_SIZE

MEMORY_LIMIT = 1 << 28
"""Most bytes of memory for the variables of the workgroups that run together (256 MiB)."""

_CAUSE = 2
"""Bytes of a cause, of which each number of a variable has one."""

_ACCESSES = 8 * 13
"""Bytes of the records of the last accesses to a number, while data races are searched for."""

SLICE = 1 << 16
"""Most invocations in a slice; larger dispatches run in several slices, one after the other."""

STEP_LIMIT = 1 << 22
"""Default number of rounds after which a loop counts as hanging."""


@dataclass(frozen=True)
class VariableMemory:
    """Bytes that the variables of a program need.

    `shared`: for each workgroup, by name of the variable, with what is recorded about its numbers.
    `declared`: of the same variables, as the shader declares them.
    `own`: for each invocation, by type of the variable.
    """

    shared: dict[str, int]
    own: dict[str, int]
    declared: dict[str, int]

    def of(self, workgroups: int, invocations: int) -> int:
        """Return the bytes for some workgroups with this number of invocations together."""
        return workgroups * sum(self.shared.values()) + invocations * sum(self.own.values())

    def workgroups(self, invocations: int) -> int:
        """Return how many workgroups of this number of invocations fit the limit; at least one."""
        return max(1, MEMORY_LIMIT // max(1, self.of(1, invocations)))

    def require(self, workgroups: int, invocations: int) -> None:
        """Raise `OutOfMemory` if the variables of these workgroups are over the limit."""
        need = self.of(workgroups, invocations)
        if need <= MEMORY_LIMIT:
            return
        parts = {f"shared variable {name}": size * workgroups for name, size in self.shared.items()}
        for name, size in self.own.items():
            parts[f"variables of the type {name} in {invocations} invocations"] = size * invocations
        largest = max(parts, key=lambda name: parts[name])
        declared = self.declared.get(largest.removeprefix("shared variable "))
        why = (
            f": {size_text(declared)}, and for each number whether it is defined and which accesses were last"
            if declared is not None
            else ""
        )
        raise OutOfMemory(
            f"The variables need {size_text(need)} of memory; the limit of the reference device is"
            f" {size_text(MEMORY_LIMIT)}. The largest part: {largest}, with {size_text(parts[largest])}{why}."
            " Make the arrays shorter; if a specialization constant sets their length, give it with --spec."
        )


def variable_memory(program: ExecutableShader, *, races: bool) -> VariableMemory:
    """Return the memory that the variables of a program need; more if `races` are searched for."""
    each = _CAUSE + (_ACCESSES if races else 0)
    shared = {
        name: size + size // program.variables.granule(identifier) * each
        for identifier, (name, _, size) in program.shared.items()
    }
    own: dict[str, int] = {}
    for number, leaves in enumerate(program.cells):
        name = program.cell_types[number].glsl
        own[name] = own.get(name, 0) + sum(_bytes_of(leaf) for leaf in leaves)
    declared = {name: size for name, _, size in program.shared.values()}
    return VariableMemory(shared, own, declared)


def _bytes_of(leaf: Leaf) -> int:
    return math.prod(leaf.dims) * (leaf.scalar.dtype.itemsize + _CAUSE)


@dataclass(frozen=True)
class ExecutionOutcome:
    """Events and traces of an execution."""

    events: tuple[Event, ...]  # in the order of the first occurrence of each
    #: The instructions that the watched invocations executed, by workgroup and local id.
    trace: Mapping[tuple[Groups, Groups], Sequence[ExecutedInstruction]] = field(default_factory=dict)
    #: For the position of each executed instruction, the most invocations that executed it together.
    executed: Mapping[int, int] = field(default_factory=dict)
    #: By the positions of group operations: how invocations parted that were not together there.
    partings: Mapping[int, Parting] = field(default_factory=dict)
    #: Whether invocations of one workgroup took different ways; True, too, where that was not recorded.
    parted: bool = True


def execute(
    program: ExecutableShader,
    groups: Groups,
    resources: Bindings,
    push: bytes = b"",
    subgroup_size: int = 32,
    *,
    shuffle: int | None = None,
    assignment: npt.NDArray[np.int64] | None = None,
    races: bool = False,
    step_limit: int = STEP_LIMIT,
    deadline: float | None = None,
    addressable: Iterable[Memory] = (),
    watch: Iterable[tuple[Groups, Groups]] | None = None,
    observer: Observer | None = None,
    work: WorkBudget | None = None,
    model: ExecutionModel = FULL,
) -> ExecutionOutcome:
    """Run a compute shader.

    Returns events and traces. The causes of undefined memory are in `Memory.causes`.

    `program`: the program.
    `groups`: number of workgroups in x, y, z.
    `resources`: memories, images and samplers by (set, binding), in the order of an array of descriptors.
    Shaders write into their bytes.
    `push`: the bytes of the push constants.
    `subgroup_size`: a power of two from 1 to 128.
    `shuffle`: a seed for a random assignment of invocations to lanes, in each workgroup. None for a linear
    assignment.
    `assignment`: the assignment itself, as for `Arrangement`.
    `races`: whether to search for data races, which takes time and memory.
    `step_limit`: rounds of a loop after which it counts as hanging.
    `deadline`: seconds until the dispatch times out; None for no limit.
    `addressable`: memories that physical addresses may point into.
    `watch`: invocations to trace, by workgroup and local id.
    `observer`: sees each instruction instead.
    `work`: counts the work; at its limit the execution stops, and the outcome is that of what was executed.
    `model`: the choices where Vulkan permits several executions.

    Raises
    ------
    InvalidDispatch
        A binding has no resource, or the subgroup size is invalid.
    DispatchTimeout
        The deadline has passed.
    OutOfMemory
        The variables of a workgroup need more memory than `MEMORY_LIMIT`, or than there is.
    """
    if program.stage != "compute":
        raise Unsupported(
            f"{program.entry.name!r} is a {program.stage} shader, which a dispatch cannot run. Draw with it:"
            " Device.draw, or `vkgroup run … --size W,H`.",
            [program.stage],
        )
    if 0 in groups:
        return ExecutionOutcome(())
    arrangement = arrange(program, groups, subgroup_size, shuffle, assignment, model)
    watched = {arrangement.number(*name): name for name in watch or ()}
    trace = (
        InstructionTrace({number: name for number, name in watched.items() if number >= 0})
        if watched
        else None
    )
    execution = Execution(
        program,
        resources,
        push,
        events=EventLog(program.causes, arrangement.invocation),
        addressable=addressable,
        order=Order(arrangement, is_explicit=program.module.reflection.memory_model[1] == "Vulkan")
        if races
        else None,
        step_limit=step_limit,
        until=None if deadline is None else time.monotonic() + deadline,
        observer=observer if observer is not None else trace,
        work=work,
        model=model,
    )
    for part in arrangement.parts(execution.most_invocations(arrangement.per_workgroup)):
        execution.run(arrangement, part)
    return ExecutionOutcome(
        execution.finish(),
        trace.executed if trace is not None else {},
        execution.executed,
        execution.partings,
        execution.parted,
    )


def arrange(
    program: ExecutableShader,
    groups: Groups,
    subgroup_size: int,
    shuffle: int | None = None,
    assignment: npt.NDArray[np.int64] | None = None,
    model: ExecutionModel = FULL,
) -> Arrangement:
    """Return the subgroups and lanes of a dispatch; the parameters are those of `execute`."""
    quads = _quads(program, subgroup_size)
    if shuffle is not None:
        assignment = shuffled(program.local_size, groups[0] * groups[1] * groups[2], shuffle, quads)
    elif assignment is None:
        assignment = quads
    if model.sparse != "full" and not program.has_full_subgroups(subgroup_size):
        assignment = spread(
            linear(program.local_size) if assignment is None else assignment,
            subgroup_size,
            model.sparse,
            model.seed,
            in_quads=program.needs_quads or quads is not None,
        )
    return Arrangement(groups, program.local_size, subgroup_size, assignment)


def _quads(program: ExecutableShader, subgroup_size: int) -> npt.NDArray[np.int64] | None:
    """Return the assignment that makes derivative groups of a compute shader quads; None if it has none."""
    if not program.derivative_group:
        return None
    if subgroup_size < QUAD_SIZE:
        raise Unsupported(
            f"Derivatives need quads, and a subgroup of {subgroup_size} has none.",
            [f"a subgroup size of {QUAD_SIZE} or more for derivatives"],
        )
    return (in_quads if program.derivative_group == "quads" else linear)(program.local_size)


class Execution:
    """One execution of a program on its resources: all slices of a dispatch, or of a stage of a draw.

    `program`: the program.
    `resources`, `push`: as for `execute`.
    `events`: the log for events.
    `addressable`, `step_limit`, `observer`: as for `Machine`.
    `written`: further memories, which the caller writes to: attachments.
    `order`: the record of barriers while data races are searched for; else None.
    `until`: `time.monotonic()` at which to give up; None for never.
    `work`, `model`: as for `Machine`.

    Attributes: `partings`, `parted`: as in `ExecutionOutcome`.
    """

    def __init__(
        self,
        program: ExecutableShader,
        resources: Bindings,
        push: bytes,
        *,
        events: EventLog,
        addressable: Iterable[Memory] = (),
        written: Iterable[Memory] = (),
        order: Order | None = None,
        step_limit: int = STEP_LIMIT,
        until: float | None = None,
        observer: Observer | None = None,
        work: WorkBudget | None = None,
        model: ExecutionModel = FULL,
    ) -> None:
        self.program = program
        self._model = model
        self.partings: dict[int, Parting] = {}
        self.parted = False
        self._work = work or WorkBudget()
        self._resources = Resources(program, resources, list(addressable), list(written), push, events, order)
        self._step_limit, self._until, self._observer = step_limit, until, observer
        self._segments: dict[int, int] = {}
        self._memory = variable_memory(program, races=order is not None)

    def most_invocations(self, per_workgroup: int) -> int:
        """Return how many invocations a slice may have: as many as `SLICE`, if their variables fit memory."""
        return min(SLICE, self._memory.workgroups(per_workgroup) * per_workgroup)

    def run(self, arrangement: Arranged, part: ArrangementPart, inputs: StageInputs | None = None) -> Machine:
        """Execute a slice with the inputs of a stage of a draw; return it with its variables as they end.

        Raises OutOfMemory: the variables of the slice need more memory than `MEMORY_LIMIT`.
        """
        self._memory.require(part.workgroups, len(part.lane))
        with np.errstate(all="ignore"):
            machine = Machine(
                self.program,
                arrangement,
                part,
                self._resources,
                step_limit=self._step_limit,
                deadline=self._until,
                observer=self._observer,
                work=self._work,
                segments=self._segments,
                model=self._model,
                partings=self.partings,
            )
            try:
                initialise(machine, self.program, inputs or StageInputs())
                machine.run()
                self.parted |= machine.parted
            except MemoryError as error:
                raise OutOfMemory(
                    f"The reference device needs more memory than there is for the variables of"
                    f" {machine.count} invocations: {error}."
                ) from None
        return machine

    @property
    def executed(self) -> dict[int, int]:
        """For the position of each executed instruction, the most invocations that executed it together."""
        executed: dict[int, int] = {}
        for number, lanes in self._segments.items():
            code = self.program.code(number)
            for position in (*(shown[0] for shown in code.shown), code.site.position):
                executed[position] = max(executed.get(position, 0), lanes)
        return executed

    def finish(self) -> tuple[Event, ...]:
        """End the dispatch or the stage, and return its events."""
        self._resources.finish()
        return self._resources.events.events()
