"""Executes a program: a dispatch or a stage of a draw, slice by slice."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.events import Event
from vkgroup.errors import InvalidDispatch, OutOfMemory, Unsupported
from vkgroup.reference.interpreter.arrangement import (
    Arranged,
    Arrangement,
    Groups,
    Part,
    in_quads,
    linear,
    shuffled,
)
from vkgroup.reference.interpreter.builtins import built_in
from vkgroup.reference.interpreter.interface import StageInputs, seen_as
from vkgroup.reference.interpreter.layout import numbers
from vkgroup.reference.interpreter.log import EventLog
from vkgroup.reference.interpreter.machine import Machine
from vkgroup.reference.interpreter.memory import Memory
from vkgroup.reference.interpreter.program import Program
from vkgroup.reference.interpreter.races import Accesses, Order
from vkgroup.reference.interpreter.site import BEFORE_HARD
from vkgroup.reference.interpreter.trace import Executed, Trace
from vkgroup.reference.interpreter.values import HARD, Value, undefined
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spirv import ScalarType

SLICE = 1 << 16
"""Invocations that advance together: what a dispatch holds at once, whatever its size."""

STEP_LIMIT = 1 << 22
"""Rounds of a loop after which it is said to hang, unless told otherwise."""


Resources = Mapping[tuple[int, int], Sequence[Any]]


@dataclass(frozen=True)
class Outcome:
    """What an execution noticed.

    Attributes
    ----------
    events : in the order in which they happened first.
    trace : what the watched invocations executed, by workgroup and local id.
    """

    events: tuple[Event, ...]
    trace: Mapping[tuple[Groups, Groups], Sequence[Executed]] = field(default_factory=dict)


def execute(
    program: Program,
    groups: Groups,
    resources: Resources,
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
) -> Outcome:
    """Run a compute shader.

    Parameters
    ----------
    program : what to run.
    groups : number of workgroups in x, y, z.
    resources : memories, images and samplers by (set, binding), in the order of an array of descriptors.
        Shaders write into their bytes.
    push : the bytes of the push constants.
    subgroup_size : a power of two from 1 to 128.
    shuffle : a seed: invocations of a workgroup are put into its lanes at random. Without, the assignment is
        linear.
    assignment : the assignment itself, as for `Arrangement`.
    races : whether to look for data races, which takes time and memory.
    step_limit : rounds of a loop after which it is said to hang.
    deadline : seconds that it may take; None for any number.
    addressable : memories that physical addresses may point into.
    watch : invocations to trace, by workgroup and local id.

    Returns
    -------
    What went wrong. What is undefined about memory is in `Memory.causes`.

    Raises
    ------
    InvalidDispatch
        Something is not bound, or the subgroup size is none.
    DispatchTimeout
        It took too long.
    OutOfMemory
        The variables of a workgroup need more than there is.
    """
    if program.stage != "compute":
        raise Unsupported(
            f"{program.entry.name!r} is a {program.stage} shader, and no workgroups run it. Draw with it:"
            " Device.draw, or `vkgroup run … --size W,H`.",
            [program.stage],
        )
    if 0 in groups:
        return Outcome(())
    quads = _quads(program, subgroup_size)
    if shuffle is not None:
        assignment = shuffled(program.local_size, groups[0] * groups[1] * groups[2], shuffle, quads)
    elif assignment is None:
        assignment = quads
    arrangement = Arrangement(groups, program.local_size, subgroup_size, assignment)
    watched = {arrangement.number(*place): place for place in watch or ()}
    trace = Trace({number: place for number, place in watched.items() if number >= 0}) if watched else None
    execution = Execution(
        program,
        resources,
        push,
        events=EventLog(program.causes, arrangement.invocation),
        addressable=addressable,
        order=Order(arrangement) if races else None,
        step_limit=step_limit,
        until=None if deadline is None else time.monotonic() + deadline,
        trace=trace,
    )
    for part in arrangement.parts(SLICE):
        execution.run(arrangement, part)
    return Outcome(execution.finish(), trace.executed if trace is not None else {})


def _quads(program: Program, subgroup_size: int) -> npt.NDArray[np.int64] | None:
    """Return the assignment that makes a compute shader's derivative groups quads; None where it has none."""
    if not program.derivative_group:
        return None
    if subgroup_size < QUAD_SIZE:
        raise Unsupported(
            f"Derivatives need quads, and a subgroup of {subgroup_size} has none.",
            [f"a subgroup size of {QUAD_SIZE} or more for derivatives"],
        )
    return (in_quads if program.derivative_group == "quads" else linear)(program.local_size)


class Execution:
    """One program at work on what is bound: all slices of a dispatch, or of a stage of a draw.

    Parameters
    ----------
    program : what to run.
    resources, push : as for `execute`.
    events : where to note what goes wrong.
    addressable, step_limit, trace : as for `Machine`.
    written : memories besides, which the caller writes to: attachments.
    order : what barriers and atomics order, while races are looked for.
    until : `time.monotonic()` at which to give up; None for never.
    """

    def __init__(
        self,
        program: Program,
        resources: Resources,
        push: bytes,
        *,
        events: EventLog,
        addressable: Iterable[Memory] = (),
        written: Iterable[Memory] = (),
        order: Order | None = None,
        step_limit: int = STEP_LIMIT,
        until: float | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.program, self._events, self._order = program, events, order
        self._bound = _Bound(program, resources, list(addressable), list(written), order)
        self._push = Memory(np.frombuffer(push.ljust(16, b"\0"), np.uint8).copy(), "the push constants")
        self._step_limit, self._until, self._trace = step_limit, until, trace

    def run(self, arrangement: Arranged, part: Part, inputs: StageInputs | None = None) -> Machine:
        """Execute a slice, and return it with what its variables hold at the end.

        Parameters
        ----------
        arrangement, part : where its invocations are.
        inputs : what a stage of a draw gets from the one before.

        Raises
        ------
        DispatchTimeout
            It took too long.
        OutOfMemory
            The variables need more memory than there is.
        """
        with np.errstate(all="ignore"):
            machine = Machine(
                self.program,
                arrangement,
                part,
                resources=self._bound.numbered,
                memories=self._bound.by_variable,
                push=self._push,
                addressable=self._bound.addressable,
                events=self._events,
                order=self._order,
                step_limit=self._step_limit,
                deadline=self._until,
                trace=self._trace,
            )
            try:
                _initialise(machine, inputs or StageInputs())
                machine.run()
            except MemoryError as error:
                raise OutOfMemory(
                    f"The reference device needs more memory than there is for the variables of"
                    f" {machine.count} invocations: {error}."
                ) from None
        return machine

    def finish(self) -> tuple[Event, ...]:
        """End the dispatch or the stage, and return what went wrong."""
        self._bound.finish(self._events)
        return self._events.events()


class _Bound:
    """What a dispatch works on, as the machine looks it up."""

    def __init__(
        self,
        program: Program,
        resources: Resources,
        addressable: list[Memory],
        written: list[Memory],
        order: Order | None,
    ) -> None:
        self.numbered: list[Any] = []
        self.by_variable: dict[int, Any] = {}
        self.addressable = sorted(addressable, key=lambda memory: memory.address)
        self._memories: dict[int, Memory] = {id(memory): memory for memory in (*self.addressable, *written)}
        first: dict[tuple[int, int], int] = {}
        for identifier, place in program.bindings.items():
            given = resources.get(place)
            if given is None:
                if identifier in {binding.id for binding in program.module.reflection.bindings}:
                    raise InvalidDispatch(f"Nothing is bound at set {place[0]}, binding {place[1]}.")
                continue
            if place not in first:
                first[place] = len(self.numbered)
                self.numbered += given
            is_memory = [isinstance(entry, Memory) for entry in given]
            for entry in given:
                inner = entry[0] if isinstance(entry, tuple) else entry
                if isinstance(inner, Memory):
                    self._memories[id(inner)] = inner
            if program.is_buffer(identifier):
                assert all(is_memory)
                self.by_variable[identifier] = list(given)
                for entry in given:
                    entry.refine(program.granule(identifier))
            else:
                self.by_variable[identifier] = (first[place], len(given))
        for memory in self._memories.values():
            if program.has_small_addresses and memory.address:
                memory.refine(1)
            memory.begin()
            if order is not None:
                memory.accesses = Accesses(order, memory.granules)

    def finish(self, events: EventLog) -> None:
        """Note which memories hold undefined values at the end."""
        for memory in self._memories.values():
            memory.end()
            if memory.causes is None:
                continue
            numbers = np.unique(memory.causes)
            for number in numbers[numbers >= HARD].tolist():
                if number == BEFORE_HARD:
                    continue
                places = np.flatnonzero(memory.causes == number)
                position, invocation = memory.stored_causes.get(number, (-1, -1))
                events.add_one(
                    "undefined",
                    position,
                    invocation,
                    f"{memory.name} holds an undefined value at the end",
                    memory=memory.name,
                    offset=int(places[0]) * memory.granule,
                    cause=number,
                    count=len(places),
                )


def _initialise(machine: Machine, inputs: StageInputs) -> None:
    """Give variables of the module the values that they start with."""
    program = machine.program
    machine.helpers, machine.interpolate = inputs.helpers, inputs.interpolate
    for name, cell in program.built_ins.items():
        given = inputs.built_ins.get(name)
        value = built_in(name, machine) if given is None else seen_as(given, program.cells[cell])
        machine.cells[cell].write(value, None)
    for cell, value in inputs.variables.items():
        machine.cells[cell].write(value, None)
    for cell in program.private_cells:
        initial = program.initializers.get(cell)
        if initial is not None:
            machine.cells[cell].write(program.constants[initial], None)
        else:
            machine.cells[cell].write(undefined(program.cell_types[cell], program.private_causes[cell]), None)
    for identifier, slot in program.shared_initializers.items():
        _fill_shared(machine, identifier, program.constants[slot])
    if machine.order is not None:
        for memory in machine.shared.values():
            memory.accesses = Accesses(machine.order, memory.granules)


def _fill_shared(machine: Machine, identifier: int, value: Value) -> None:
    """Give a shared variable its initial value in every workgroup."""
    _, placed, size = machine.program.shared[identifier]
    memory = machine.shared[identifier]
    starts = np.arange(machine.workgroups) * size
    for part, data in zip(numbers(placed), value.leaves, strict=True):
        offset = part.offsets[..., None] + starts
        stored = data.astype(np.uint32) if part.is_bool else data
        dtype = part.scalar.dtype if isinstance(part.scalar, ScalarType) else stored.dtype
        places = offset[..., None] + np.arange(dtype.itemsize)
        spread = np.ascontiguousarray(np.broadcast_to(stored.astype(dtype), offset.shape))
        memory.data[places] = spread[..., None].view(np.uint8)
        memory.mark(offset, dtype.itemsize, None)
