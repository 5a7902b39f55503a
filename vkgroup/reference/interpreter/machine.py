"""Executes a slice of a dispatch, or of a stage of a draw, segment by segment.

Who comes next is the scheduler's business (`scheduler.py`); here is the state of the slice, and what a
segment does to it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.events import Cause
from vkgroup.errors import DispatchTimeout
from vkgroup.reference.interpreter.arrangement import Arranged, Part
from vkgroup.reference.interpreter.cells import Cell, Index
from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.interface import Interpolate
from vkgroup.reference.interpreter.log import EventLog
from vkgroup.reference.interpreter.memory import Memory
from vkgroup.reference.interpreter.scheduler import Scheduler
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.subgroups import Subgroups
from vkgroup.reference.interpreter.values import Causes, Value, leaf_of, select, tainted

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.program import Program
    from vkgroup.reference.interpreter.races import Order
    from vkgroup.reference.interpreter.trace import Trace

Lanes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Copies = tuple[tuple[int, int], ...]

_CLOCK_EVERY = 64


class Machine:
    """One slice in execution.

    Parameters
    ----------
    program : what to execute.
    arrangement : where the invocations are.
    part : the slice: some whole workgroups.
    resources, memories, push : what is bound: resources by number; memory by variable and descriptor; the
        push constants.
    addressable : memories with an address, in ascending order.
    events : where to note what goes wrong.
    order : what barriers and atomics order, while races are looked for.
    step_limit : rounds of a loop after which it hangs.
    deadline : `time.monotonic()` at which to give up; None for never.
    trace : what to record; None for nothing.
    """

    def __init__(
        self,
        program: Program,
        arrangement: Arranged,
        part: Part,
        *,
        resources: list[Any],
        memories: dict[int, list[Any]],
        push: Memory,
        addressable: list[Memory],
        events: EventLog,
        order: Order | None,
        step_limit: int,
        deadline: float | None,
        trace: Trace | None,
    ) -> None:
        self.program = program
        self.arrangement: Arranged = arrangement
        self.resources, self.memories, self.push, self.addressable = resources, memories, push, addressable
        self.events, self.order, self.trace = events, order, trace
        self.first_workgroup = part.first_workgroup
        self.first = events.first = part.first
        self.local_index: Lanes = part.local_index
        self.count = len(part.local_index)
        self.workgroups = part.workgroups
        #: Of each invocation: its workgroup in the slice, its subgroup in the slice, its lane.
        self.workgroup: Lanes = part.workgroup
        self.row: Lanes = part.row
        self.lane: Lanes = part.lane
        self.per_workgroup = self.count // self.workgroups
        #: In the fragment stage: which invocations are helpers; else None.
        self.helpers: Flags | None = None
        self.interpolate: Interpolate | None = None
        #: Which have ended by discarding their fragment; None where none has.
        self.discarded: Flags | None = None
        #: What is undefined about how each invocation got where it is; and what the order of atomics decides
        #: of that, until it is where all ways meet again.
        self.control: Causes | None = None
        self.soft_control: Causes | None = None
        self._soft_until = np.zeros(0, np.int64)
        self.regs: list[Any] = [None] * program.slots
        self._kept: dict[int, Cell] = {}
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
        memory.refine(self.program.granule(identifier))
        detail = f"nobody has written to this place of {name}, which is shared"
        cause = Cause("uninitialised", detail, self.program.shared_positions[identifier])
        memory.causes = np.full(memory.granules, self.program.causes.number(cause), np.uint16)
        return memory

    def subgroups_of(self, index: Index) -> Subgroups:
        """Return the subgroups that some invocations form."""
        size = self.arrangement.subgroup_size
        if index is not None:
            return Subgroups(size, self.row[index], self.lane[index], self._optional(index))
        if self._all_subgroups is None:
            self._all_subgroups = Subgroups(size, self.row, self.lane, self._optional(None))
        return self._all_subgroups

    def _optional(self, index: Index) -> Flags | None:
        """Return which of some invocations a device may leave out of group operations; None for nobody.

        Those are helpers, unless the shader says otherwise (Vulkan 1.4, "Helper Invocations").
        """
        return None if self.program.helpers_take_part else self.helpers_of(index)

    @property
    def has_derivatives(self) -> bool:
        """Whether invocations stand in quads between which values change: fragments, derivative groups."""
        return self.helpers is not None or bool(self.program.derivative_group)

    def helpers_of(self, index: Index) -> Flags | None:
        """Return which of some invocations are helpers now, (n,); None where nobody is."""
        if self.helpers is None:
            return None
        helpers = self.helpers if index is None else self.helpers[index]
        return helpers if helpers.any() else None

    @property
    def subgroup_numbers(self) -> Lanes:
        """The subgroup of each invocation of the whole dispatch, by its number there."""
        return self.arrangement.subgroup_numbers

    def ticks(self) -> int:
        """Return how many segments were executed, for clocks."""
        return self._executed

    def check_barrier(self, frame: Frame, site: Site) -> None:
        """Note a barrier of the workgroup that invocations which have ended never reach."""
        if self._scheduler.has_hung:
            return
        gone = self._scheduler.alive < self.per_workgroup
        if gone.any():
            missing = gone[self.workgroup[frame.lanes]]
            if missing.any():
                frame.report(
                    "barrier", site, missing, "some invocations of the workgroup ended before this barrier"
                )

    def invocations(self, index: Index) -> Lanes:
        """Return the numbers in the dispatch of some invocations."""
        return self.first + (np.arange(self.count) if index is None else index)

    # --- values between segments ----------------------------------------------------------------------

    def keep(self, slot: int, value: Value, index: Index) -> None:
        """Keep a value of the active invocations for other segments."""
        cell = self._kept.get(slot)
        if cell is None:
            leaves = tuple(leaf_of(data) for data in value.leaves)
            cell = self._kept[slot] = Cell(leaves, self.count)
        cell.write(value, index)

    def kept(self, slot: int, index: Index) -> Value | None:
        """Return a kept value; None where nothing has made it in any invocation yet."""
        cell = self._kept.get(slot)
        return None if cell is None else cell.read(index)

    # --- execution ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Execute until every invocation has ended.

        Raises
        ------
        DispatchTimeout
            The deadline has passed.
        """
        # Between slices: a shader without loops looks at the clock nowhere else.
        self._check_clock()
        while (chosen := self._scheduler.next()) is not None:
            self._execute(*chosen)

    def _execute(self, number: int, index: Index) -> None:
        """Execute one segment for the invocations of `index`."""
        self._executed += 1
        if self._executed % _CLOCK_EVERY == 0:
            self._check_clock()
        frame = Frame(self, index)
        if self.soft_control is not None:
            self._forget_order(number, frame)
        code, regs = self.program.code[number], self.regs
        for slot in code.imports:
            regs[slot] = self.kept(slot, index)
        if self.trace is not None:
            self.trace.segment(frame, code)
        else:
            for step, frees in code.steps:
                step(frame)
                for slot in frees:
                    regs[slot] = None
        for slot in code.exports:
            self.keep(slot, self.controlled(frame, regs[slot]), index)
        code.finish(frame)
        for slot in code.temporaries:
            regs[slot] = None

    def _check_clock(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise DispatchTimeout("The dispatch did not finish in the time it was given.")

    def go(self, number: int, target: int, copies: Copies, frame: Frame, where: Flags | None = None) -> None:
        """Send invocations along an edge from segment `number`: copy what its phis take, and wait there.

        `where`, (n,), names those that go; None for all of the frame.
        """
        index = frame.index if where is None else frame.lanes[where]
        values = [(slot, self.controlled(frame, self.regs[source])) for slot, source in copies]
        for slot, value in values:
            self.keep(slot, value if where is None else select(value, where), index)
        self._scheduler.wait(target, index, after=number)

    def end(self, index: Index) -> None:
        """End invocations."""
        self._scheduler.end(index)

    def discard(self, index: Index) -> None:
        """End invocations, whose fragments are discarded."""
        if self.discarded is None:
            self.discarded = np.zeros(self.count, np.bool_)
        self.discarded[slice(None) if index is None else index] = True
        self.end(index)

    def demote(self, index: Index) -> None:
        """Let invocations go on as helpers, which have no effect on memory; their fragments are discarded."""
        if self.helpers is None:
            return
        # What frames and subgroups hold of them is how it was before.
        self.helpers = self.helpers.copy()
        self.helpers[slice(None) if index is None else index] = True
        self._all_subgroups = None

    def poison(self, lanes: Lanes, cause: Causes) -> None:
        """Remember of invocations that what they do from now on depends on undefined values."""
        if self.control is None:
            self.control = np.zeros(self.count, np.uint16)
        self.control[lanes] = np.maximum(self.control[lanes], cause)

    def soften(self, number: int, lanes: Lanes, cause: Causes) -> None:
        """Remember of invocations that the order of atomics decides where they go from segment `number`.

        It is so until they are where all ways from there meet again.
        """
        if self.soft_control is None:
            self.soft_control = np.zeros(self.count, np.uint16)
            self._soft_until = np.zeros(self.count, np.int64)
        until = self.program.post_dominators[number]
        self.soft_control[lanes] = np.maximum(self.soft_control[lanes], cause)
        self._soft_until[lanes] = np.maximum(self._soft_until[lanes], until)

    def _forget_order(self, number: int, frame: Frame) -> None:
        """All ways have met at segment `number` for those that waited for it."""
        assert self.soft_control is not None
        lanes = frame.lanes[self._soft_until[frame.lanes] == number]
        self.soft_control[lanes] = 0
        self._soft_until[lanes] = 0
        if not self.soft_control.any():
            self.soft_control = None

    def controlled(self, frame: Frame, value: Value) -> Value:
        """Return a value with what is undefined, or left to the order, about who got here."""
        control = frame.control
        return value if control is None else tainted(value, control)
