"""Execution state: the values and memories of a slice, and frames (the invocations of an instruction)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.reference.events import EventCause
from vkgroup.reference.interpreter.operations.accessor import Accessor, LaneSet, Slice
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.interface import Interpolate
from vkgroup.reference.interpreter.values.arrangement import Arranged, ArrangementPart
from vkgroup.reference.interpreter.values.event_log import EventLog
from vkgroup.reference.interpreter.values.value import (
    BEFORE_HARD,
    HARD,
    Causes,
    Data,
    Leaf,
    Value,
    select,
    spread,
    take,
)

ElementIndices = tuple[int | npt.NDArray[np.int64], ...]
"""Indices into the dims of a leaf: uniform numbers, or arrays (n,)."""


class Cell:
    """One value for each invocation of a slice, written in parts.

    An array may be shared with other values. It is copied before the first write to a part of it.

    `leaves`: types and dims of its arrays.
    `count`: invocations of the slice.
    """

    __slots__ = ("_causes", "_count", "_data", "_layout", "_owned", "_owned_causes")

    def __init__(self, leaves: tuple[Leaf, ...], count: int) -> None:
        self._layout = leaves
        self._count = count
        self._data: list[Data] = [np.zeros((*leaf.dims, 1), leaf.scalar.dtype) for leaf in leaves]
        self._causes: list[Causes | None] = [None] * len(leaves)
        self._owned = [False] * len(leaves)
        self._owned_causes = [False] * len(leaves)

    # --- whole values ---------------------------------------------------------------------------------

    def read(self, lanes: LaneSet) -> Value:
        """Return the whole value in some invocations."""
        whole = Value(tuple(self._data), tuple(self._causes))
        if lanes.is_all:
            self._owned = [False] * len(self._owned)
            self._owned_causes = [False] * len(self._owned)
            return whole
        return select(whole, lanes.indices)

    def write(self, value: Value, lanes: LaneSet) -> None:
        """Replace the whole value in some invocations."""
        if lanes.is_all:
            self._data = list(value.leaves)
            self._causes = list(value.causes)
            self._owned = [False] * len(self._owned)
            self._owned_causes = [False] * len(self._owned)
            return
        selection = (Ellipsis, lanes.indices)
        for number, (data, cause) in enumerate(zip(value.leaves, value.causes, strict=True)):
            self._own(number)[selection] = data
            self._write_cause(number, (), selection, cause)

    # --- parts ----------------------------------------------------------------------------------------

    def read_part(self, leaves: slice, indices: ElementIndices, lanes: LaneSet) -> Value:
        """Return the elements at `indices` of some leaves, in some invocations."""
        if not indices:
            whole = self.read(lanes)
            return Value(whole.leaves[leaves], whole.causes[leaves])
        varying = any(not isinstance(index, int) for index in indices)
        choose = _choose_varying if varying else _choose_uniform
        parts, causes = [], []
        for number in range(*leaves.indices(len(self._data))):
            data, cause = self._data[number], self._causes[number]
            if lanes.is_all and not varying:
                self._owned[number] = self._owned_causes[number] = False
            parts.append(choose(data, indices, lanes))
            causes.append(None if cause is None else choose(spread(cause, data.shape[:-1]), indices, lanes))
        return Value(tuple(parts), tuple(causes))

    def write_part(self, leaves: slice, indices: ElementIndices, value: Value, lanes: LaneSet) -> None:
        """Replace the elements at `indices` of some leaves, in some invocations."""
        numbers = range(*leaves.indices(len(self._data)))
        if not indices and lanes.is_all:
            for number, data, cause in zip(numbers, value.leaves, value.causes, strict=True):
                self._data[number], self._causes[number] = data, cause
                self._owned[number] = self._owned_causes[number] = False
            return
        varying = any(not isinstance(index, int) for index in indices)
        for number, data, cause in zip(numbers, value.leaves, value.causes, strict=True):
            if varying:
                selection, lanes_first = _varying_selection(self._layout[number], indices, lanes)
                self._own(number)[selection] = np.moveaxis(data, -1, 0) if lanes_first else data
                part: tuple[int, ...] = ()
                if cause is not None and lanes_first:
                    cause = np.moveaxis(spread(cause, data.shape[:-1]), -1, 0)
            else:
                # Index the part first, as a view: one combined index would move the invocations to the front.
                part = tuple(index for index in indices if isinstance(index, int))
                selection = (Ellipsis, lanes.selector)
                self._own(number)[part][selection] = data
            self._write_cause(number, part, selection, cause)

    def _own(self, number: int) -> Data:
        """Return a leaf's array, unshared and with an entry for each invocation."""
        data = self._data[number]
        if not self._owned[number]:
            shape = (*self._layout[number].dims, self._count)
            data = self._data[number] = np.array(np.broadcast_to(data, shape))
            self._owned[number] = True
        return data

    def _write_cause(self, number: int, part: tuple[int, ...], selection: Any, cause: Causes | None) -> None:
        present = self._causes[number]
        if present is None and (cause is None or not cause.any()):
            return
        if not self._owned_causes[number]:
            shape = (*self._layout[number].dims, self._count)
            full = np.zeros(shape, np.uint16) if present is None else np.broadcast_to(present, shape)
            present = self._causes[number] = np.array(full)
            self._owned_causes[number] = True
        assert present is not None
        present[part][selection] = 0 if cause is None else cause
        if cause is None and not present.any():
            self._causes[number] = None
            self._owned_causes[number] = False


def _choose_uniform(array: Data, indices: ElementIndices, lanes: LaneSet) -> Data:
    """Return the part at uniform indices."""
    part = array[indices]
    return part if lanes.is_all else take(part, lanes.indices)


def _choose_varying(array: Data, indices: ElementIndices, lanes: LaneSet) -> Data:
    """Return the part at indices that may vary between invocations."""
    invocations: Any = 0 if array.shape[-1] == 1 else lanes.indices
    rest = array.ndim - 1 - len(indices)
    part = array[(*indices, *(slice(None),) * rest, invocations)]
    # With index arrays on both sides of a slice, NumPy puts the invocations first.
    return np.moveaxis(part, 0, -1) if rest else part


def _varying_selection(leaf: Leaf, indices: ElementIndices, lanes: LaneSet) -> tuple[Any, bool]:
    """Return the NumPy index for a write at varying indices, and whether invocations are its first axis."""
    rest = len(leaf.dims) - len(indices)
    return (*indices, *(slice(None),) * rest, lanes.indices), rest > 0


Bindings = Mapping[tuple[int, int], Sequence[Any]]
"""Memories, images and samplers by (set, binding), in the order of an array of descriptors."""


class Resources:
    """The resources of a dispatch.

    Raises InvalidDispatch: a binding that the program uses has no resource.

    Parameters
    ----------
    program : the program that uses them.
    bindings : the resources bound.
    addressable : memories that physical addresses may point into.
    written : memories that the caller writes to: attachments.
    push : the bytes of the push constants.
    events : the log for events.
    order : the record of barriers while data races are searched for; else None.

    Attributes
    ----------
    push : the push constants.
    numbered : every resource; image and sampler values are indices into this list.
    by_variable : memories of a buffer variable; of a resource variable its first number and its count.
    addressable : in ascending order of addresses.
    """

    def __init__(
        self,
        program: ProgramForm,
        bindings: Bindings,
        addressable: Sequence[Memory],
        written: Sequence[Memory],
        push: bytes,
        events: EventLog,
        order: Order | None,
    ) -> None:
        self.events, self.order = events, order
        self.push = Memory(np.frombuffer(push.ljust(16, b"\0"), np.uint8).copy(), "the push constants")
        self.numbered: list[Any] = []
        self.by_variable: dict[int, Any] = {}
        self.addressable = sorted(addressable, key=lambda memory: memory.address)
        self._memories: dict[int, Memory] = {id(memory): memory for memory in (*self.addressable, *written)}
        first: dict[tuple[int, int], int] = {}
        used = {binding.id for binding in program.module.reflection.bindings}
        for identifier, binding in program.bindings.items():
            bound = bindings.get(binding)
            if bound is None:
                if identifier in used:
                    raise InvalidDispatch(f"Nothing is bound at set {binding[0]}, binding {binding[1]}.")
                continue
            if binding not in first:
                first[binding] = len(self.numbered)
                self.numbered += bound
            self._bind(program, identifier, bound, first[binding])
        for memory in self._memories.values():
            if program.has_small_addresses and memory.address:
                memory.refine(1)
            memory.begin()
            if order is not None:
                memory.record_accesses(order)

    def _bind(self, program: ProgramForm, identifier: int, bound: Sequence[Any], first: int) -> None:
        """Record the resources of one variable, whose numbers begin at `first`."""
        for resource in bound:
            image = resource[0] if isinstance(resource, tuple) else resource
            if isinstance(image, Memory):
                self._memories[id(image)] = image
        if not program.variables.is_buffer(identifier):
            self.by_variable[identifier] = (first, len(bound))
            return
        assert all(isinstance(resource, Memory) for resource in bound)
        self.by_variable[identifier] = list(bound)
        for memory in bound:
            memory.refine(program.variables.granule(identifier))

    def finish(self) -> None:
        """End the dispatch, and report the memories that hold undefined values."""
        for memory in self._memories.values():
            memory.end()
            if memory.causes is None:
                continue
            numbers = np.unique(memory.causes)
            for number in numbers[numbers >= HARD].tolist():
                if number == BEFORE_HARD:
                    continue
                granules = np.flatnonzero(memory.causes == number)
                position, invocation = memory.stored_causes.get(number, (-1, -1))
                self.events.add_one(
                    "undefined",
                    position,
                    invocation,
                    f"{memory.name} holds an undefined value at the end",
                    memory=memory.name,
                    offset=int(granules[0]) * memory.granule,
                    cause=number,
                    count=len(granules),
                )


class SliceState(Slice):
    """A slice with its values and memories.

    `resources`: every resource; image and sampler values are indices into this list.
    `memories`: memories of a buffer variable by id; of a resource variable its first number and its count.
    `addressable`: memories with an address, in ascending order.
    `push`: the push constants.
    `order`: the record of barriers while data races are searched for; else None.
    `interpolate`: in the fragment stage the function of `StageInputs`; else None.
    `has_derivatives`: whether invocations form quads between which values change.
    `regs`: value of each slot.
    `cells`: variables of each invocation, by number.
    `shared`: shared variables by id; those of all workgroups lie one after the other.
    `pointees`: the memories into which variable pointers point, by number; that of the null pointer first.
    `executed`: the number of segments executed, for clocks.
    """

    def __init__(
        self, program: ProgramForm, arrangement: Arranged, part: ArrangementPart, resources: Resources
    ) -> None:
        super().__init__(program, arrangement, part, resources.events)
        self.resources, self.memories = resources.numbered, resources.by_variable
        self.push, self.addressable, self.order = resources.push, resources.addressable, resources.order
        self.interpolate: Interpolate | None = None
        self.has_derivatives = program.stage == "fragment" or bool(program.derivative_group)
        self.regs: list[Any] = [None] * program.slots
        for slot, value in program.constants.items():
            self.regs[slot] = value
        self.cells = [Cell(leaves, self.count) for leaves in program.cells]
        self.shared: dict[int, Memory] = {}
        blocks = program.variables.blocks
        for identifier, (name, _, size) in program.shared.items():
            if identifier in blocks[1:]:
                self.shared[identifier] = self.shared[blocks[0]]
                continue
            data = np.zeros(size * self.workgroups, np.uint8)
            memory = Memory(data, name, kind="workgroup", copies=self.workgroups)
            memory.refine(program.variables.granule(identifier))
            detail = f"no invocation has written to this part of {name}, which is shared memory"
            cause = EventCause("uninitialised", detail, program.variables.shared_positions[identifier])
            memory.unwritten = (program.causes.number(cause), cause)
            memory.causes = np.full(memory.granules, memory.unwritten[0], np.uint16)
            self.shared[identifier] = memory
        self.pointees = [Memory(np.zeros(0, np.uint8), "memory at the null pointer")]
        self.executed = 0

    def number_of(self, memory: Memory) -> int:
        """Return the number of a memory in `pointees`."""
        for number, known in enumerate(self.pointees):
            if known is memory:
                return number
        self.pointees.append(memory)
        return len(self.pointees) - 1


class Frame(Accessor):
    """The invocations that execute a segment, or one of its instructions, together.

    Attributes
    ----------
    regs : value of each slot.
    """

    __slots__ = ("regs",)

    machine: SliceState

    def __init__(self, machine: SliceState, lanes: LaneSet) -> None:
        super().__init__(machine, lanes)
        self.regs = machine.regs


Step = Callable[[Frame], None]
"""One instruction of a segment, ready to run."""
