"""State of execution that operations change: the values and memories of a slice, and frames on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.dispatch.events import Cause
from vkgroup.reference.interpreter.operations.accessor import Accessor, Slice
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.resources import Resources
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.interface import Interpolate
from vkgroup.reference.interpreter.values.arrangement import Arranged, Part
from vkgroup.reference.interpreter.values.cells import Cell
from vkgroup.reference.interpreter.values.lane_set import LaneSet


class SliceState(Slice):
    """A slice with its values and memories.

    Attributes
    ----------
    resources : every resource; image and sampler values are indices into this list.
    memories : memories of a buffer variable by id; of a resource variable its first number and its count.
    addressable : memories with an address, in ascending order.
    push : the push constants.
    order : the record of barriers while data races are searched for; else None.
    interpolate : in the fragment stage the function of `StageInputs`; else None.
    has_derivatives : whether invocations form quads between which values change.
    regs : value of each slot.
    cells : variables of each invocation, by number.
    shared : shared variables by id; those of all workgroups lie one after the other.
    executed : the number of segments executed, for clocks.
    """

    def __init__(self, program: ProgramForm, arrangement: Arranged, part: Part, resources: Resources) -> None:
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
            cause = Cause("uninitialised", detail, program.variables.shared_positions[identifier])
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
