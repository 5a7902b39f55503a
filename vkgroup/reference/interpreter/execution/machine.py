"""Machine: the state of a slice in execution, and the execution of its segments in the scheduler's order."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.results import Cause
from vkgroup.errors import DispatchTimeout
from vkgroup.reference.interpreter.execution.arrangement import Arranged, Part
from vkgroup.reference.interpreter.execution.event_log import EventLog
from vkgroup.reference.interpreter.execution.frame import MachineFrame
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.execution.resources import Resources
from vkgroup.reference.interpreter.execution.scheduler import Scheduler
from vkgroup.reference.interpreter.execution.trace import Trace
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.state import Frame, MemoryOrder
from vkgroup.reference.interpreter.program.interface import Interpolate
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.cells import Cell
from vkgroup.reference.interpreter.values.lane_set import LaneSet
from vkgroup.reference.interpreter.values.subgroups import Subgroups
from vkgroup.reference.interpreter.values.value import Causes, Value, leaf_of, select

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Copies = tuple[tuple[int, int], ...]

_CLOCK_EVERY = 64
"""Segments between two looks at the clock."""


class Machine:
    """One slice in execution.

    Parameters
    ----------
    program : the program.
    arrangement : the lanes and subgroups of the invocations.
    part : the slice: some whole workgroups.
    resources : the buffers, images and samplers bound.
    push : the push constants.
    events : the log for events.
    order : the record of barriers while data races are searched for; else None.
    step_limit : rounds of a loop after which it hangs.
    deadline : `time.monotonic()` at which to give up; None for never.
    trace : the record of chosen invocations; None for none.

    Attributes
    ----------
    lanes : all invocations of the slice.
    workgroup, row, lane : of each invocation its workgroup and its subgroup, both counted in the slice, and
        its lane.
    helpers : of the fragment stage: which invocations are helpers; else None.
    discarded : which invocations have ended by discarding their fragment; None where none has.
    control : what is undefined about the path of each invocation; None where nothing is.
    soft_control : what the order of atomics decides about it, until all paths have met again.
    """

    def __init__(
        self,
        program: Program,
        arrangement: Arranged,
        part: Part,
        *,
        resources: Resources,
        push: Memory,
        events: EventLog,
        order: MemoryOrder | None,
        step_limit: int,
        deadline: float | None,
        trace: Trace | None,
    ) -> None:
        self.program = program
        self.arrangement: Arranged = arrangement
        self.resources, self.memories = resources.numbered, resources.by_variable
        self.push, self.addressable = push, resources.addressable
        self.events, self.order, self.trace = events, order, trace
        self.first_workgroup = part.first_workgroup
        self.first = events.first = part.first
        self.local_index: Indices = part.local_index
        self.count = len(part.local_index)
        self.lanes = LaneSet.all(self.count)
        self.workgroups = part.workgroups
        self.workgroup: Indices = part.workgroup
        self.row: Indices = part.row
        self.lane: Indices = part.lane
        self.per_workgroup = self.count // self.workgroups
        self.helpers: Flags | None = None
        self.interpolate: Interpolate | None = None
        self.discarded: Flags | None = None
        self.control: Causes | None = None
        self.soft_control: Causes | None = None
        self._soft_until = np.zeros(0, np.int64)
        self.regs: list[Any] = [None] * program.slots
        self._stored: dict[int, Cell] = {}
        self.cells = [Cell(leaves, self.count) for leaves in program.cells]
        self.shared = {
            identifier: self._shared_memory(identifier, name, size * self.workgroups)
            for identifier, (name, _, size) in program.shared.items()
        }
        self._scheduler = Scheduler(program.segments, part, events, step_limit)
        self._all_subgroups: Subgroups | None = None
        self._deadline = deadline
        self._executed = 0
        for slot, value in program.constants.items():
            self.regs[slot] = value

    def _shared_memory(self, identifier: int, name: str, nbytes: int) -> Memory:
        memory = Memory(np.zeros(nbytes, np.uint8), name, kind="workgroup")
        memory.refine(self.program.variables.granule(identifier))
        detail = f"no invocation has written to this part of {name}, which is shared memory"
        cause = Cause("uninitialised", detail, self.program.variables.shared_positions[identifier])
        memory.causes = np.full(memory.granules, self.program.causes.number(cause), np.uint16)
        return memory

    @property
    def subgroup_size(self) -> int:
        """Lanes of a subgroup."""
        return self.arrangement.subgroup_size

    @property
    def dispatch_size(self) -> int:
        """Invocations of the whole dispatch."""
        return self.arrangement.invocations

    @property
    def subgroup_numbers(self) -> Indices:
        """Subgroup of each invocation of the whole dispatch, by its number there."""
        return self.arrangement.subgroup_numbers

    @property
    def has_derivatives(self) -> bool:
        """Whether invocations form quads between which values change: fragments, derivative groups."""
        return self.helpers is not None or bool(self.program.derivative_group)

    def subgroups_of(self, lanes: LaneSet) -> Subgroups:
        """Return the subgroups that some invocations form."""
        size = self.arrangement.subgroup_size
        if not lanes.is_all:
            index = lanes.indices
            return Subgroups(size, self.row[index], self.lane[index], self._optional(lanes))
        if self._all_subgroups is None:
            self._all_subgroups = Subgroups(size, self.row, self.lane, self._optional(lanes))
        return self._all_subgroups

    def _optional(self, lanes: LaneSet) -> Flags | None:
        """Return which of some invocations a device may leave out of group operations; None for none.

        Those are helpers, unless the shader says otherwise (Vulkan 1.4, "Helper Invocations").
        """
        return None if self.program.helpers_take_part else self.helpers_of(lanes)

    def helpers_of(self, lanes: LaneSet) -> Flags | None:
        """Return which of some invocations are helpers now, (n,); None where none is."""
        if self.helpers is None:
            return None
        helpers: Flags = self.helpers[lanes.selector]
        return helpers if helpers.any() else None

    def ticks(self) -> int:
        """Return the number of segments executed, for clocks."""
        return self._executed

    def check_barrier(self, frame: Frame, site: Site) -> None:
        """Report a barrier of the workgroup that invocations which have ended never reach."""
        if self._scheduler.has_hung:
            return
        gone = self._scheduler.alive < self.per_workgroup
        if gone.any():
            missing = gone[self.workgroup[frame.lanes.selector]]
            if missing.any():
                frame.report(
                    "barrier", site, missing, "some invocations of the workgroup ended before this barrier"
                )

    # --- values between segments ----------------------------------------------------------------------

    def _store(self, slot: int, value: Value, lanes: LaneSet) -> None:
        """Store the value of a slot in some invocations for other segments."""
        cell = self._stored.get(slot)
        if cell is None:
            leaves = tuple(leaf_of(data) for data in value.leaves)
            cell = self._stored[slot] = Cell(leaves, self.count)
        cell.write(value, lanes)

    def _load(self, slot: int, lanes: LaneSet) -> Value | None:
        """Return the stored value of a slot; None where no invocation has computed it yet."""
        cell = self._stored.get(slot)
        return None if cell is None else cell.read(lanes)

    # --- execution ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Execute until every invocation has ended.

        Raises
        ------
        DispatchTimeout
            The deadline has passed.
        """
        # At the start of each slice, since a shader may have fewer than `_CLOCK_EVERY` segments.
        self._check_clock()
        while (chosen := self._scheduler.next()) is not None:
            self._execute(*chosen)

    def _execute(self, number: int, lanes: LaneSet) -> None:
        """Execute one segment in some invocations."""
        self._executed += 1
        if self._executed % _CLOCK_EVERY == 0:
            self._check_clock()
        frame = MachineFrame(self, lanes)
        if self.soft_control is not None:
            self._end_soft_control(number, lanes)
        code, regs = self.program.code[number], self.regs
        for slot in code.imports:
            regs[slot] = self._load(slot, lanes)
        if self.trace is not None:
            self.trace.execute(frame, code)
        else:
            for step, frees in code.steps:
                step(frame)
                for slot in frees:
                    regs[slot] = None
        for slot in code.exports:
            self._store(slot, frame.controlled(regs[slot]), lanes)
        code.finish(frame, self)
        for slot in code.temporaries:
            regs[slot] = None

    def _check_clock(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise DispatchTimeout("The dispatch did not finish in the time it was given.")

    # --- ends of segments -----------------------------------------------------------------------------

    def go(self, number: int, target: int, copies: Copies, frame: Frame, where: Flags | None = None) -> None:
        """Send invocations along an edge from segment `number`: copy the operands of its phis, then wait.

        Parameters
        ----------
        where : (n,), those invocations of the frame that take the edge; None for all.
        """
        lanes = frame.lanes if where is None else frame.lanes.where(where)
        values = [(slot, frame.controlled(self.regs[source])) for slot, source in copies]
        for slot, value in values:
            self._store(slot, value if where is None else select(value, where), lanes)
        self._scheduler.wait(target, lanes, after=number)

    def end(self, lanes: LaneSet) -> None:
        """End invocations."""
        self._scheduler.end(lanes)

    def discard(self, lanes: LaneSet) -> None:
        """End invocations, and discard their fragments."""
        if self.discarded is None:
            self.discarded = np.zeros(self.count, np.bool_)
        self.discarded[lanes.selector] = True
        self.end(lanes)

    def demote(self, lanes: LaneSet) -> None:
        """Make invocations helpers, which have no effect on memory, and discard their fragments."""
        if self.helpers is None:
            return
        # A copy, since frames and subgroups hold parts of the array as it was before.
        self.helpers = self.helpers.copy()
        self.helpers[lanes.selector] = True
        self._all_subgroups = None

    # --- paths that depend on undefined values --------------------------------------------------------

    def taint_path(self, lanes: Indices, cause: Causes) -> None:
        """Record that the path of some invocations depends on undefined values from now on."""
        if self.control is None:
            self.control = np.zeros(self.count, np.uint16)
        self.control[lanes] = np.maximum(self.control[lanes], cause)

    def taint_path_softly(self, number: int, lanes: Indices, cause: Causes) -> None:
        """Record that the order of atomics decides the path of some invocations from segment `number`.

        The record ends where all paths from that segment meet again.
        """
        if self.soft_control is None:
            self.soft_control = np.zeros(self.count, np.uint16)
            self._soft_until = np.zeros(self.count, np.int64)
        until = self.program.post_dominators[number]
        self.soft_control[lanes] = np.maximum(self.soft_control[lanes], cause)
        self._soft_until[lanes] = np.maximum(self._soft_until[lanes], until)

    def _end_soft_control(self, number: int, lanes: LaneSet) -> None:
        """End the record for those invocations whose paths meet again at segment `number`."""
        assert self.soft_control is not None
        index = lanes.indices
        met = index[self._soft_until[index] == number]
        self.soft_control[met] = 0
        self._soft_until[met] = 0
        if not self.soft_control.any():
            self.soft_control = None
