"""Executes a slice of a dispatch: some whole workgroups, segment by segment.

Invocations wait at segments. The lowest segment in which one of a subgroup waits is the one that it executes
next, together with all of its invocations that wait there: since segments are numbered in structured order,
that is the reconvergence of SPV_KHR_maximal_reconvergence. Subgroups wait for each other at barriers only.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkgroup.errors import DispatchTimeout
from vkgroup.reference.interpreter.arrangement import Arrangement
from vkgroup.reference.interpreter.cells import Cell, Index
from vkgroup.reference.interpreter.events import Cause
from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.log import EventLog
from vkgroup.reference.interpreter.memory import Memory
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

SPINS = 64
"""Rounds of a loop after which others that wait get a turn."""

_CLOCK_EVERY = 64


class Machine:
    """One slice in execution.

    Parameters
    ----------
    program : what to execute.
    arrangement : where the invocations are.
    first_workgroup, last_workgroup : the slice, without the last.
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
        arrangement: Arrangement,
        first_workgroup: int,
        last_workgroup: int,
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
        self.arrangement: Arrangement = arrangement
        self.resources, self.memories, self.push, self.addressable = resources, memories, push, addressable
        self.events, self.order, self.trace = events, order, trace
        self.first_workgroup = first_workgroup
        self.first = events.first = first_workgroup * arrangement.per_workgroup
        place: Lanes
        self.local_index: Lanes
        self.local_index, place = arrangement.part(first_workgroup, last_workgroup)
        self.count = len(place)
        self.workgroups = last_workgroup - first_workgroup
        #: Of each invocation: its workgroup in the slice, its subgroup in the slice, its lane.
        self.workgroup = np.repeat(np.arange(self.workgroups), arrangement.per_workgroup)
        self.row: Lanes = self.workgroup * arrangement.subgroups + place // arrangement.subgroup_size
        self.lane = place % arrangement.subgroup_size
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
        self._waiting: dict[int, list[Index]] = {}
        self._sleeping: list[tuple[int, Index]] = []
        self._wake = 0
        self._awake = (-1, -1)
        self._rounds: dict[int, int] = {}
        self._crowd: dict[int, int] = {}
        self._alive = np.full(self.workgroups, arrangement.per_workgroup)
        self._all_subgroups: Subgroups | None = None
        self._step_limit, self._deadline = step_limit, deadline
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
            return Subgroups(size, self.row[index], self.lane[index])
        if self._all_subgroups is None:
            self._all_subgroups = Subgroups(size, self.row, self.lane)
        return self._all_subgroups

    @property
    def subgroup_numbers(self) -> Lanes:
        """The subgroup of each invocation of the whole dispatch, by its number there."""
        return self.arrangement.subgroup_numbers

    def ticks(self) -> int:
        """Return how many segments were executed, for clocks."""
        return self._executed

    def check_barrier(self, frame: Frame, site: Site) -> None:
        """Note a barrier of the workgroup that invocations which have ended never reach."""
        gone = self._alive < self.arrangement.per_workgroup
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

    # --- scheduling -----------------------------------------------------------------------------------

    def run(self) -> None:
        """Execute until every invocation has ended.

        Raises
        ------
        DispatchTimeout
            The deadline has passed.
        """
        # Between slices: a shader without loops looks at the clock nowhere else.
        self._check_clock()
        self._waiting = {0: [None]}
        while self._waiting or self._sleeping:
            if self._sleeping and (not self._waiting or self._executed >= self._wake):
                self._wake_up()
            number, index = self._next()
            if self._rounds.get(number, 0) > self._step_limit:
                self._hang(number, index)
            else:
                self._execute(number, index)

    def _next(self) -> tuple[int, Index]:
        """Take the invocations that execute next from those that wait."""
        # Nobody sleeps in the second attempt.
        for attempt in range(2):
            claimed: npt.NDArray[np.bool_] | None = self._sleeping_rows()
            for number in sorted(self._waiting):
                index = self._merge(number)
                chosen = self._ready(number, index, claimed)
                if attempt == 0 and chosen is not None and self._defer(number, chosen):
                    chosen = None
                if chosen is not None:
                    return number, self._take(number, index, chosen)
                if claimed is None:
                    claimed = np.zeros(self.workgroups * self.arrangement.subgroups, np.bool_)
                claimed[self.row if index is None else self.row[index]] = True
            if attempt == 0 and self._sleeping:
                self._wake_up()
        return self._release()

    def _merge(self, number: int) -> Index:
        """Return everybody that waits at a segment, in order."""
        pieces = self._waiting[number]
        if len(pieces) > 1:
            index = np.sort(np.concatenate([piece for piece in pieces if piece is not None]), kind="stable")
            self._waiting[number] = [None if len(index) == self.count else index]
        return self._waiting[number][0]

    def _ready(self, number: int, index: Index, claimed: npt.NDArray[np.bool_] | None) -> Index | bool:
        """Return those that may go on: True for all of them, None for nobody."""
        if index is not None and len(index) == 0:
            return None
        if self.program.segments[number].is_barrier:
            return self._complete(index)
        if claimed is None:
            return True
        lanes = np.arange(self.count) if index is None else index
        free = ~claimed[self.row[lanes]]
        if free.all():
            return True
        return lanes[free] if free.any() else None

    def _complete(self, index: Index) -> Index | bool:
        """Return the invocations of the workgroups that are all at a barrier."""
        if index is None:
            return True
        arrived = np.bincount(self.workgroup[index], minlength=self.workgroups)
        complete = (arrived == self._alive) & (arrived > 0)
        ready = complete[self.workgroup[index]]
        if ready.all():
            return True
        return index[ready] if ready.any() else None

    def _take(self, number: int, index: Index, chosen: Index | bool) -> Index:
        """Remove those that go on from those that wait."""
        if chosen is True:
            del self._waiting[number]
            return index
        assert isinstance(chosen, np.ndarray)
        lanes = np.arange(self.count) if index is None else index
        self._waiting[number] = [np.setdiff1d(lanes, chosen, assume_unique=True)]
        return chosen

    def _release(self) -> tuple[int, Index]:
        """Nobody can go on: let a barrier go that not all of its workgroup reach."""
        number = min(number for number in self._waiting if self.program.segments[number].is_barrier)
        index = self._merge(number)
        lanes = np.arange(self.count) if index is None else index
        position = self.program.segments[number].ops[0].instruction.position
        self.events.add(
            "barrier",
            position,
            lanes,
            np.ones(len(lanes), np.bool_),
            "not all invocations of the workgroup reach this barrier",
        )
        del self._waiting[number]
        return number, index

    # --- loops that wait for somebody -----------------------------------------------------------------

    def _defer(self, number: int, chosen: Index | bool) -> bool:
        """Whether a loop that goes round and round lets others go first; if so it sleeps for a while."""
        rounds = self._rounds.get(number, 0)
        if rounds == 0 or rounds % SPINS or len(self._waiting) == 1 or self._awake == (number, rounds):
            return False
        index = self._merge(number)
        crowd = self.count if index is None else len(index)
        if crowd < self._crowd.get(number, crowd):
            # Somebody has got out since: of many that want the same lock, the last waits for all others.
            self._rounds[number] = SPINS
        self._crowd[number] = crowd
        self._sleeping.append((number, self._take(number, index, chosen)))
        self._wake = self._executed + SPINS
        return True

    def _wake_up(self) -> None:
        for number, index in self._sleeping:
            self._waiting.setdefault(number, []).append(index)
            self._awake = (number, self._rounds.get(number, 0))
        self._sleeping = []

    def _sleeping_rows(self) -> npt.NDArray[np.bool_] | None:
        if not self._sleeping:
            return None
        claimed = np.zeros(self.workgroups * self.arrangement.subgroups, np.bool_)
        for _, index in self._sleeping:
            claimed[self.row if index is None else self.row[index]] = True
        return claimed

    def _hang(self, number: int, index: Index) -> None:
        """A loop does not end: note it, and end its invocations, so that the others can go on."""
        lanes = np.arange(self.count) if index is None else index
        rows = set(self.row[lanes].tolist())
        others = [
            set(self.row[np.arange(self.count) if piece is None else piece].tolist()) & rows
            for pieces in self._waiting.values()
            for piece in pieces
        ]
        message = f"a loop goes on after {self._step_limit} rounds"
        if any(others):
            message += ", while other invocations of the same subgroup wait for it to end"
        instruction = self.program.segments[number].terminator.instruction
        position = self.program.segments[number].position
        if position < 0 and instruction is not None:
            position = instruction.position
        self.events.add("hang", position, lanes, np.ones(len(lanes), np.bool_), message)
        self._rounds[number] = 0
        self.end(index)

    # --- segments -------------------------------------------------------------------------------------

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
        if self.program.segments[target].is_loop:
            self._rounds[target] = self._rounds.get(target, 0) + 1 if target <= number else 0
            if target > number:
                self._crowd.pop(target, None)
        self._waiting.setdefault(target, []).append(index)

    def end(self, index: Index) -> None:
        """End invocations."""
        if index is None:
            self._alive[:] = 0
        else:
            self._alive -= np.bincount(self.workgroup[index], minlength=self.workgroups)

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
