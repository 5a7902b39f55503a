"""Machine: execution of one slice, segment by segment, in the scheduler's order.

Invocations wait at segments, and each subgroup executes the lowest segment at which one waits. Since segments
are numbered in structured order, this is the reconvergence of SPV_KHR_maximal_reconvergence. Subgroups wait
for each other only at barriers. A loop may wait for another invocation: after `SPINS` rounds it sleeps until
all other invocations have had a turn.
"""

from __future__ import annotations

import time

import numpy as np

from vkgroup.base.errors import DispatchTimeout
from vkgroup.reference.interpreter.execution.program import Code, ExecutableShader
from vkgroup.reference.interpreter.execution.work import WorkBudget
from vkgroup.reference.interpreter.operations.accessor import Flags, LaneSet, Slice
from vkgroup.reference.interpreter.operations.state import Cell, Frame, Resources, SliceState
from vkgroup.reference.interpreter.program.segments import Edge, Segment
from vkgroup.reference.interpreter.values.arrangement import Arranged, ArrangementPart
from vkgroup.reference.interpreter.values.event_log import InstructionTrace
from vkgroup.reference.interpreter.values.value import HARD, Value, leaf_of, select

SPINS = 64
"""Rounds of a loop before it sleeps."""

_CLOCK_EVERY = 64
"""Segments between two checks of the deadline."""


class SegmentScheduler:
    """The invocations of a slice that have not ended, by the segment at which they wait.

    `segments`: of the program.
    `slice_`: the invocations; the scheduler changes its `alive` and `has_hung`.
    `step_limit`: rounds of a loop after which it hangs.
    """

    def __init__(self, segments: list[Segment], slice_: Slice, step_limit: int) -> None:
        self._segments, self._slice, self._step_limit = segments, slice_, step_limit
        self._workgroup, self._row = slice_.workgroup, slice_.row
        self._subgroups = int(slice_.row[-1]) + 1
        self._waiting: dict[int, list[LaneSet]] = {0: [slice_.lanes]}
        self._sleeping: list[tuple[int, LaneSet]] = []
        #: Of each loop: the rounds since an invocation entered it, the round in which its last turn began,
        #: and the number of invocations in it when it last fell asleep.
        self._rounds: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self._sizes: dict[int, int] = {}

    def wait(self, number: int, lanes: LaneSet, *, after: int) -> None:
        """Record that invocations, coming from segment `after`, wait at segment `number`."""
        if self._segments[number].is_loop:
            if number <= after:
                self._rounds[number] = self._rounds.get(number, 0) + 1
            else:
                self._rounds[number] = 0
                self._turns.pop(number, None)
                self._sizes.pop(number, None)
        self._waiting.setdefault(number, []).append(lanes)

    def end(self, lanes: LaneSet) -> None:
        """Remove invocations that have ended."""
        if lanes.is_all:
            self._slice.alive[:] = 0
        else:
            self._slice.alive -= np.bincount(self._workgroup[lanes.indices], minlength=self._slice.workgroups)

    def next(self) -> tuple[int, LaneSet] | None:
        """Return the segment that executes next and its invocations; None if all have ended.

        A loop that exceeds its limit is reported, and its invocations are ended, so that others can
        continue.
        """
        while self._waiting or self._sleeping:
            number, lanes = self._choose()
            if self._rounds.get(number, 0) <= self._step_limit:
                return number, lanes
            self._end_hung_loop(number, lanes)
        return None

    def _choose(self) -> tuple[int, LaneSet]:
        """Remove the invocations that execute next from those that wait, and return them."""
        # The second attempt wakes all loops.
        for attempt in range(2):
            claimed = self._rows_asleep()
            for number in sorted(self._waiting):
                lanes = self._merge(number)
                ready = self._ready(number, lanes, claimed)
                if ready and not (attempt == 0 and self._sleeps(number, ready)):
                    return number, self._take(number, ready)
                if claimed is None:
                    claimed = np.zeros(self._subgroups, np.bool_)
                claimed[self._row[lanes.selector]] = True
            if attempt == 0 and self._sleeping:
                self._wake_up()
        return self._release_barrier()

    def _merge(self, number: int) -> LaneSet:
        """Return all invocations that wait at a segment."""
        sets = self._waiting[number]
        if len(sets) > 1:
            self._waiting[number] = [LaneSet.union(sets)]
        return self._waiting[number][0]

    def _ready(self, number: int, lanes: LaneSet, claimed: Flags | None) -> LaneSet:
        """Return the invocations waiting at a segment that may continue.

        `claimed`, (subgroups,), are the subgroups with invocations at a lower segment, or asleep.
        """
        if not lanes:
            return lanes
        if self._segments[number].is_barrier:
            return self._at_complete_barrier(lanes)
        if claimed is None:
            return lanes
        free = ~claimed[self._row[lanes.selector]]
        return lanes if free.all() else lanes.where(free)

    def _at_complete_barrier(self, lanes: LaneSet) -> LaneSet:
        """Return the invocations of workgroups whose invocations have all reached a barrier."""
        if lanes.is_all:
            return lanes
        arrived = np.bincount(self._workgroup[lanes.indices], minlength=self._slice.workgroups)
        complete = (arrived == self._slice.alive) & (arrived > 0)
        ready = complete[self._workgroup[lanes.indices]]
        return lanes if ready.all() else lanes.where(ready)

    def _take(self, number: int, chosen: LaneSet) -> LaneSet:
        """Remove invocations from those that wait at a segment, and return them."""
        (lanes,) = self._waiting[number]
        if chosen.count == lanes.count:
            del self._waiting[number]
        else:
            self._waiting[number] = [lanes.without(chosen)]
        return chosen

    def _release_barrier(self) -> tuple[int, LaneSet]:
        """Release a barrier that only part of a workgroup reaches, since no other invocation can continue."""
        number = min(number for number in self._waiting if self._segments[number].is_barrier)
        lanes = self._merge(number)
        if not self._slice.has_hung:
            self._slice.events.add(
                "barrier",
                self._segments[number].ops[0].instruction.position,
                lanes.indices,
                np.ones(lanes.count, np.bool_),
                "not all invocations of the workgroup reach this barrier",
            )
        del self._waiting[number]
        return number, lanes

    # --- loops that wait for other invocations --------------------------------------------------------

    def _sleeps(self, number: int, ready: LaneSet) -> bool:
        """Put a loop to sleep after its turn; return whether it sleeps now."""
        rounds = self._rounds.get(number, 0)
        if rounds - self._turns.get(number, 0) < SPINS or (len(self._waiting) == 1 and not self._sleeping):
            return False
        size = self._merge(number).count
        if size < self._sizes.get(number, size):
            # Some invocations have left since: with one lock, the last invocation waits for all others.
            self._rounds[number] = SPINS
        self._sizes[number] = size
        self._sleeping.append((number, self._take(number, ready)))
        return True

    def _wake_up(self) -> None:
        for number, lanes in self._sleeping:
            self._waiting.setdefault(number, []).append(lanes)
            self._turns[number] = self._rounds.get(number, 0)
        self._sleeping = []

    def _rows_asleep(self) -> Flags | None:
        """Return the subgroups with invocations asleep, (subgroups,); None where no loop sleeps."""
        if not self._sleeping:
            return None
        claimed = np.zeros(self._subgroups, np.bool_)
        for _, lanes in self._sleeping:
            claimed[self._row[lanes.selector]] = True
        return claimed

    def _end_hung_loop(self, number: int, lanes: LaneSet) -> None:
        """Report a loop that does not end, and end its invocations, so that others can continue."""
        rows = set(self._row[lanes.selector].tolist())
        others = [
            set(self._row[waiting.selector].tolist()) & rows
            for sets in self._waiting.values()
            for waiting in sets
        ]
        message = f"a loop goes on after {self._step_limit} rounds"
        if any(others):
            message += ", while other invocations of the same subgroup wait for it to end"
        instruction = self._segments[number].terminator.instruction
        position = self._segments[number].position
        if position < 0 and instruction is not None:
            position = instruction.position
        self._slice.events.add("hang", position, lanes.indices, np.ones(lanes.count, np.bool_), message)
        self._rounds[number] = 0
        self._slice.has_hung = True
        self.end(lanes)


class Machine(SliceState):
    """Execution of one slice.

    Parameters
    ----------
    program : the program.
    arrangement, part : the lanes and subgroups of the invocations.
    resources : the buffers, images and samplers bound, the push constants, and the log for events.
    step_limit : rounds of a loop after which it counts as hanging.
    deadline : `time.monotonic()` at which to give up; None for never.
    trace : the record of chosen invocations; None for none.
    work : the work so far, and the limit at which to stop.
    segments : for each executed segment, the largest number of invocations that executed it together; this
        slice adds its own.

    Attributes
    ----------
    discarded : which invocations have ended by discarding their fragment; None where none has.
    """

    def __init__(
        self,
        program: ExecutableShader,
        arrangement: Arranged,
        part: ArrangementPart,
        resources: Resources,
        *,
        step_limit: int,
        deadline: float | None,
        trace: InstructionTrace | None,
        work: WorkBudget,
        segments: dict[int, int] | None = None,
    ) -> None:
        super().__init__(program, arrangement, part, resources)
        self.program = program
        self.discarded: Flags | None = None
        self._trace, self._deadline, self._work = trace, deadline, work
        self._segments = {} if segments is None else segments
        self._soft_until = np.zeros(0, np.int64)
        #: Values of slots that other segments read.
        self._stored: dict[int, Cell] = {}
        self._scheduler = SegmentScheduler(program.segments, self, step_limit)

    def run(self) -> None:
        """Execute until every invocation has ended, or the work is spent."""
        # At the start of each slice, since a shader may have fewer than `_CLOCK_EVERY` segments.
        self._check_clock()
        while not self._work.is_spent and (chosen := self._scheduler.next()) is not None:
            self._execute(*chosen)
        # It refers to this machine, and would keep the variables until the garbage collector runs.
        del self._scheduler

    def _execute(self, number: int, lanes: LaneSet) -> None:
        """Execute one segment in a set of invocations."""
        self.executed += 1
        self._segments[number] = max(self._segments.get(number, 0), lanes.count)
        if self.executed % _CLOCK_EVERY == 0:
            self._check_clock()
        frame = Frame(self, lanes)
        if self.soft_control is not None:
            self._end_soft_control(number, lanes)
        code, regs = self.program.code[number], self.regs
        self._work.spend(len(code.steps) + 1, lanes.count)
        for slot in code.imports:
            cell = self._stored.get(slot)
            # None where no invocation has computed it yet.
            regs[slot] = None if cell is None else cell.read(lanes)
        if self._trace is not None:
            self._execute_watched(frame, code, self._trace)
        else:
            for step, frees in code.steps:
                step(frame)
                for slot in frees:
                    regs[slot] = None
        for slot in code.exports:
            self._store(slot, frame.controlled(regs[slot]), lanes)
        self._finish(number, code, frame)
        for slot in code.temporaries:
            regs[slot] = None

    def _execute_watched(self, frame: Frame, code: Code, trace: InstructionTrace) -> None:
        """Execute the steps of a segment, and record their results in the watched invocations."""
        watched, regs = trace.watched_among(frame.invocations), self.regs
        for (step, frees), (position, shown) in zip(code.steps, code.shown, strict=True):
            step(frame)
            for name, lane in watched.items():
                trace.record(name, position, regs[shown] if shown >= 0 else None, lane)
            for slot in frees:
                regs[slot] = None

    def _store(self, slot: int, value: Value, lanes: LaneSet) -> None:
        """Store the value of a slot in some invocations for other segments."""
        cell = self._stored.get(slot)
        if cell is None:
            cell = self._stored[slot] = Cell(tuple(leaf_of(data) for data in value.leaves), self.count)
        cell.write(value, lanes)

    def _check_clock(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise DispatchTimeout("The dispatch did not finish before its deadline.")

    # --- ends of segments -----------------------------------------------------------------------------

    def _finish(self, number: int, code: Code, frame: Frame) -> None:
        """Execute the terminator of segment `number`."""
        ending = code.ending
        if ending.kind == "jump":
            self._go(number, ending.edges[0], frame)
        elif ending.kind == "branch":
            self._check_condition(number, code, frame)
            then, other = ending.edges
            flags = self.regs[ending.condition].data
            chosen = int(np.count_nonzero(flags))
            if chosen == flags.size:
                self._go(number, then, frame)
            elif chosen == 0:
                self._go(number, other, frame)
            else:
                self._go(number, then, frame, flags)
                self._go(number, other, frame, ~flags)
        elif ending.kind == "switch":
            self._check_condition(number, code, frame)
            self._switch(number, code, frame)
        else:
            if ending.kind == "unreachable":
                everywhere = np.ones(1, np.bool_)
                frame.report("undefined", code.site, everywhere, "the shader reaches an OpUnreachable")
            elif ending.kind == "discard":
                if self.discarded is None:
                    self.discarded = np.zeros(self.count, np.bool_)
                self.discarded[frame.lanes.selector] = True
            self._scheduler.end(frame.lanes)

    def _switch(self, number: int, code: Code, frame: Frame) -> None:
        selector, ending = self.regs[code.ending.condition].data, code.ending
        data = selector.view(f"u{selector.dtype.itemsize}")
        if len(data) == 1:
            value = int(data[0])
            chosen = ending.literals.index(value) if value in ending.literals else -1
            self._go(number, ending.edges[chosen], frame)
            return
        left = np.ones(frame.count, np.bool_)
        for literal, edge in zip(ending.literals, ending.edges, strict=False):
            where = data == data.dtype.type(literal)
            if where.any():
                left &= ~where
                self._go(number, edge, frame, where)
        if left.any():
            self._go(number, ending.edges[-1], frame, left)

    def _go(self, number: int, edge: Edge, frame: Frame, where: Flags | None = None) -> None:
        """Move invocations along an edge: copy the operands of its phis, then let them wait."""
        lanes = frame.lanes if where is None else frame.lanes.where(where)
        values = [(slot, frame.controlled(self.regs[source])) for slot, source in edge.copies]
        for slot, value in values:
            self._store(slot, value if where is None else select(value, where), lanes)
        self._scheduler.wait(edge.target.number, lanes, after=number)

    # --- paths that depend on undefined values --------------------------------------------------------

    def _check_condition(self, number: int, code: Code, frame: Frame) -> None:
        """Report an undefined condition of segment `number`, and record that paths depend on it.

        Dependence on the order of atomics is recorded until all paths from the segment meet again.
        """
        cause = self.regs[code.ending.condition].cause
        if cause is None:
            return
        cause = np.broadcast_to(cause, (frame.count,))
        undefined = cause >= HARD
        if undefined.any():
            frame.report_undefined(code.site, cause, "control flow depends on an undefined value")
            if self.control is None:
                self.control = np.zeros(self.count, np.uint16)
            lanes = frame.lanes.indices[undefined]
            self.control[lanes] = np.maximum(self.control[lanes], cause[undefined])
        ordered = (cause > 0) & ~undefined
        if ordered.any():
            if self.soft_control is None:
                self.soft_control = np.zeros(self.count, np.uint16)
                self._soft_until = np.zeros(self.count, np.int64)
            lanes, until = frame.lanes.indices[ordered], self.program.post_dominators[number]
            self.soft_control[lanes] = np.maximum(self.soft_control[lanes], cause[ordered])
            self._soft_until[lanes] = np.maximum(self._soft_until[lanes], until)

    def _end_soft_control(self, number: int, lanes: LaneSet) -> None:
        """Clear the record for invocations whose paths meet again at segment `number`."""
        assert self.soft_control is not None
        index = lanes.indices
        met = index[self._soft_until[index] == number]
        self.soft_control[met] = 0
        self._soft_until[met] = 0
        if not self.soft_control.any():
            self.soft_control = None
