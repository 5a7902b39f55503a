"""Machine: execution of one slice, segment by segment, in the scheduler's order."""

from __future__ import annotations

import time

import numpy as np

from vkgroup.base.errors import DispatchTimeout
from vkgroup.reference.interpreter.execution.models import FULL, ExecutionModel
from vkgroup.reference.interpreter.execution.observers import Observer
from vkgroup.reference.interpreter.execution.paths import Parting, Paths
from vkgroup.reference.interpreter.execution.program import Code, ExecutableShader
from vkgroup.reference.interpreter.execution.scheduler import SegmentScheduler
from vkgroup.reference.interpreter.execution.turns import UnitTurns
from vkgroup.reference.interpreter.execution.work import WorkBudget
from vkgroup.reference.interpreter.operations.accessor import Flags, LaneSet
from vkgroup.reference.interpreter.operations.state import Cell, Frame, Resources, SliceState
from vkgroup.reference.interpreter.program.segments import Edge
from vkgroup.reference.interpreter.values.arrangement import Arranged, ArrangementPart
from vkgroup.reference.interpreter.values.value import HARD, Value, leaf_of, select

_CLOCK_EVERY = 64
"""Segments between two checks of the deadline."""


_REPORTED_ENDS = {
    "unreachable": ("undefined", "the shader reaches an OpUnreachable"),
    "abort": ("abort", "the shader aborts the work of the device"),
}
"""Kind and message of the event by the kind of a terminator that is one."""


class Machine(SliceState):
    """Execution of one slice.

    Parameters
    ----------
    program : the program.
    arrangement, part : the lanes and subgroups of the invocations.
    resources : the buffers, images and samplers bound, the push constants, and the log for events.
    step_limit : rounds of a loop after which it counts as hanging.
    deadline : `time.monotonic()` at which to give up; None for never.
    observer : sees each instruction; None for none.
    work : the work so far, and the limit at which to stop.
    segments : for each executed segment, the largest number of invocations that executed it together; this
        slice adds its own.
    model : the choices where Vulkan permits several executions.
    partings : where invocations need not be together, as in `Paths`; this slice adds its own.

    Attributes
    ----------
    discarded : which invocations have ended by discarding their fragment; None where none has.
    parted : whether invocations of one workgroup have taken different ways.
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
        observer: Observer | None,
        work: WorkBudget,
        segments: dict[int, int] | None = None,
        model: ExecutionModel = FULL,
        partings: dict[int, Parting] | None = None,
    ) -> None:
        super().__init__(program, arrangement, part, resources)
        self.program = program
        self.discarded: Flags | None = None
        self.parted = False
        self._observer, self._deadline, self._work = observer, deadline, work
        self._segments = {} if segments is None else segments
        self._soft_until = np.zeros(0, np.int64)
        #: Values of slots that other segments read.
        self._stored: dict[int, Cell] = {}
        modes = program.entry.execution_modes
        self._paths: Paths | None = None
        if model.reconvergence == "declared" and "MaximallyReconvergesKHR" not in modes:
            self._paths = Paths(
                program.segments,
                self,
                "SubgroupUniformControlFlowKHR" in modes,
                model.apart,
                {} if partings is None else partings,
            )
        # Without a loop that may wait, all workgroups end in any case.
        # While one loop waits for a workgroup, another one may wait for a subgroup of its own.
        waits = model.progress != "fair" and program.waiting_loops(model.unit)
        self._turns = UnitTurns(model, self, program.waiting_loops()) if waits else None
        self._scheduler = SegmentScheduler(program.segments, self, step_limit, self._paths, self._turns)

    def run(self) -> None:
        """Execute until every invocation has ended, or the work is spent."""
        # At the start of each slice, since a shader may have fewer than `_CLOCK_EVERY` segments.
        self._check_clock()
        if self._observer is not None:
            self._observer.begin(self)
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
        code, regs = self.program.code(number), self.regs
        self._work.spend(len(code.steps) + 1, lanes.count)
        for slot in code.imports:
            cell = self._stored.get(slot)
            # None where no invocation has computed it yet.
            regs[slot] = None if cell is None else cell.read(lanes)
        if self._observer is not None:
            self._execute_observed(frame, number, code, self._observer)
        else:
            for step, frees in code.steps:
                step(frame)
                for slot in frees:
                    regs[slot] = None
        for slot in code.exports:
            self._store(slot, frame.controlled(regs[slot]), lanes)
        self._finish(number, code, frame)
        if self._observer is not None:
            condition = code.ending.condition
            self._observer.end(frame, code.ending, regs[condition] if condition >= 0 else None)
        for slot in code.temporaries:
            regs[slot] = None

    def _execute_observed(self, frame: Frame, number: int, code: Code, observer: Observer) -> None:
        """Execute the steps of a segment, and show each to the observer."""
        regs, ops = self.regs, self.program.segments[number].ops
        for op, (step, frees), (_, shown) in zip(ops, code.steps, code.shown, strict=True):
            step(frame)
            observer.step(frame, op, regs[shown] if shown >= 0 else None)
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
        if self._turns is not None:
            self._turns.after(self.program.segments[number])
        if self._paths is not None:
            self._paths.enter(number, frame.lanes)
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
                self._part(frame, flags)
                self._go(number, then, frame, flags)
                self._go(number, other, frame, ~flags)
        elif ending.kind == "switch":
            self._check_condition(number, code, frame)
            self._switch(number, code, frame)
        else:
            if ending.kind in _REPORTED_ENDS:
                kind, message = _REPORTED_ENDS[ending.kind]
                frame.report(kind, code.site, np.ones(1, np.bool_), message)
            elif ending.kind == "discard":
                if self.discarded is None:
                    self.discarded = np.zeros(self.count, np.bool_)
                self.discarded[frame.lanes.selector] = True
                self.end_fragments(frame.lanes)
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
                self._part(frame, where)
                self._go(number, edge, frame, where)
        if left.any():
            self._go(number, ending.edges[-1], frame, left)

    def _part(self, frame: Frame, flags: Flags) -> None:
        """Record whether only some of a workgroup's invocations go one way."""
        if not self.parted:
            workgroup = self.workgroup[frame.lanes.selector]
            part = np.bincount(workgroup[flags], minlength=self.workgroups)
            self.parted = bool(
                ((part > 0) & (part < np.bincount(workgroup, minlength=self.workgroups))).any()
            )

    def _go(self, number: int, edge: Edge, frame: Frame, where: Flags | None = None) -> None:
        """Move invocations along an edge: copy the operands of its phis, then let them wait."""
        lanes = frame.lanes if where is None else frame.lanes.where(where)
        values = [(slot, frame.controlled(self.regs[source])) for slot, source in edge.copies]
        for slot, value in values:
            self._store(slot, value if where is None else select(value, where), lanes)
        if self._paths is not None and len(self.program.segments[number].terminator.edges) > 1:
            self._paths.take(number, edge.target.number, lanes)
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
