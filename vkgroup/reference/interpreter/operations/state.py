"""Execution state: the values and memories of a slice, and frames (the invocations of an instruction)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch
from vkgroup.reference.events import EventCause
from vkgroup.reference.interpreter.operations.accessor import Accessor, Slice
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.interface import Interpolate
from vkgroup.reference.interpreter.values.arrangement import Arranged, ArrangementPart
from vkgroup.reference.interpreter.values.cells import Cell
from vkgroup.reference.interpreter.values.event_log import EventLog
from vkgroup.reference.interpreter.values.lane_set import LaneSet
from vkgroup.reference.interpreter.values.value import BEFORE_HARD, HARD

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
        for identifier, (name, _, size) in program.shared.items():
            memory = Memory(np.zeros(size * self.workgroups, np.uint8), name, kind="workgroup")
            memory.refine(program.variables.granule(identifier))
            detail = f"no invocation has written to this part of {name}, which is shared memory"
            cause = EventCause("uninitialised", detail, program.variables.shared_positions[identifier])
            memory.causes = np.full(memory.granules, program.causes.number(cause), np.uint16)
            self.shared[identifier] = memory
        self.executed = 0


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
