"""StepRecorder: every instruction of one workgroup with its values, and what each reads and writes in memory.

An execution is repeated: the first time only the steps are counted, to find the one to look at; the second
time those around it are recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.machine import Machine
from vkgroup.reference.interpreter.execution.observers import Observer
from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.operations.races import Accesses
from vkgroup.reference.interpreter.operations.records import Flags, Store, Target
from vkgroup.reference.interpreter.operations.state import Frame, SliceState
from vkgroup.reference.interpreter.program.segments import Op, Terminator
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.arrangement import Arrangement, Groups
from vkgroup.reference.interpreter.values.value import HARD, Causes, Data, Value

Numbers = npt.NDArray[np.int64]

MOST_STEPS = 10_000
"""Most steps in a record."""

MOST_LANES = 1024
"""Most invocations in a record."""

_BEFORE = 0.6
"""Part of the steps of a record that lie before the one to look at."""

_MOST_NUMBERS = 16
"""Most numbers of a value that a step keeps in each invocation: a matrix of 4 × 4."""

GROUP_OPERATIONS = ("OpGroupNonUniform", "OpSubgroup")
"""Beginnings of the names of subgroup operations."""

_MOST_OTHERS = 1 << 20
"""Most accesses of other workgroups that are kept."""


@dataclass(frozen=True, slots=True)
class TracedAccess:
    """What the invocations of a step access in one memory.

    Attributes
    ----------
    memory : number of the memory in `StepRecorder.memories`.
    kind : ``"read"``, ``"write"`` or ``"atomic"``.
    offset : bytes from the start of the memory; of shared memory, from that of the workgroup's copy.
    who : index of each invocation in the record; below 0 the complement of its number in the dispatch, for
        those of other workgroups.
    before, after : the bytes, (n, size); the same for a read.
    """

    memory: int
    kind: str
    offset: Numbers
    who: Numbers
    before: npt.NDArray[np.uint8]
    after: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class TracedValue:
    """A value in the invocations of a step: up to 16 numbers.

    `data`, `causes`: by leaf (numbers, n) or (numbers, 1), and their causes in the same shape, or None.
    """

    data: tuple[Data, ...] = ()
    causes: tuple[Causes | None, ...] = ()

    def undefined(self, count: int) -> npt.NDArray[np.bool_]:
        """Return in which of the step's `count` invocations one of the numbers is undefined."""
        flags = np.zeros(count, np.bool_)
        for cause in self.causes:
            if cause is not None:
                flags |= (cause >= HARD).any(axis=0)
        return flags


@dataclass(slots=True)
class TracedStep:
    """One instruction that some invocations of the workgroup executed together, or one end of a segment.

    Attributes
    ----------
    number : its place among all steps of the workgroup; -1 for an instruction of other workgroups, which is
        kept for what it writes.
    position : of the instruction in the module.
    lanes : indices of the invocations in the record, ascending.
    value : what it makes or stores; without numbers if it does neither.
    ending : the kind of the terminator, as in `Terminator`; empty for other instructions.
    accesses : what it accesses in memory.
    operands : of a group operation.
    """

    number: int
    position: int
    lanes: Numbers
    value: TracedValue = TracedValue()
    ending: str = ""
    accesses: list[TracedAccess] = field(default_factory=list)
    operands: list[TracedValue] = field(default_factory=list)


class _ObservedAccesses(Accesses):
    """The last accesses of one memory; each is shown to a recorder before it is checked."""

    def __init__(self, recorder: StepRecorder, order: Order, memory: Memory) -> None:
        super().__init__(order, memory.granules, memory.granule, memory.name, memory.kind)
        self._recorder, self._own = recorder, memory

    def read(self, frame: Accessor, site: Site, target: Target) -> Flags | None:
        self._recorder.access(self._own, "read", frame, target)
        return super().read(frame, site, target)

    def write(self, frame: Accessor, site: Site, target: Target, store: Store) -> Numbers:
        self._recorder.access(self._own, "write", frame, target)
        return super().write(frame, site, target, store)

    def atomic(
        self, frame: Accessor, site: Site, target: Target, operation: int, *, writes: bool, reads: bool
    ) -> Numbers:
        self._recorder.access(self._own, "atomic" if writes else "read", frame, target)
        return super().atomic(frame, site, target, operation, writes=writes, reads=reads)


class StepRecorder(Observer):
    """An observer that records the steps of one workgroup, in an execution that searches for races.

    `workgroup`: its gl_WorkGroupID.
    `window`: the first step to record, and the one after the last; None to record none and count all.
    `local`: gl_LocalInvocationID that the record contains, if it cannot contain all of the workgroup.
    `wanted`: whether an event is the one to look at.

    Attributes
    ----------
    steps : the recorded steps, those of other workgroups included.
    count : steps of the workgroup so far.
    machine : the slice that was executed last, with the program and its arrangement.
    memories : the memories that a recorded step accesses.
    local_index, subgroup, lane : gl_LocalInvocationIndex, subgroup and lane of each invocation of the record.
    found : the step at which the wanted event was last reported, and the event; None if it was not.
    others_left_out : whether accesses of other workgroups were left out, since they are too many.
    first_at, last_at : the first and the last step of each position.
    """

    def __init__(
        self,
        workgroup: Groups = (0, 0, 0),
        window: tuple[int, int] | None = None,
        *,
        local: Groups = (0, 0, 0),
        wanted: Callable[[Event], bool] = lambda event: False,
    ) -> None:
        self.steps: list[TracedStep] = []
        self.count = 0
        self.memories: list[Memory] = []
        self.local_index = self.subgroup = self.lane = np.zeros(0, np.int64)
        self.found: tuple[int, Event] | None = None
        self.first_at: dict[int, int] = {}
        self.last_at: dict[int, int] = {}
        self._workgroup, self._window, self._local, self._wanted = workgroup, window, local, wanted
        self.machine: Machine | None = None
        self._number = 0  # the workgroup's number in the dispatch
        self._last_steps = np.zeros(0, np.int64)  # the last step of each invocation
        self._start = self._stop = 0  # the first invocation of the record in the slice, and the one after
        self._pending: list[tuple[int, str, Numbers, Numbers, npt.NDArray[np.uint8], int]] = []
        self._events = self._others = 0
        self.others_left_out = False

    # --- of an observer -------------------------------------------------------------------------------

    def begin(self, machine: SliceState) -> None:
        """See a slice: find the workgroup in it, and watch its memories."""
        assert isinstance(machine, Machine)
        assert isinstance(machine.arrangement, Arrangement)
        self._number = linear_index(self._workgroup, machine.arrangement.groups)
        inside = self._number - machine.first_workgroup
        self.machine = machine
        self._start = self._stop = 0
        self._events = len(machine.events.reported)
        if 0 <= inside < machine.workgroups:
            self._start, self._stop = np.searchsorted(machine.workgroup, [inside, inside + 1]).tolist()
            first_row = machine.row[self._start]
            if self._stop - self._start > MOST_LANES:
                self._cut(machine)
            chosen = slice(self._start, self._stop)
            self.local_index, self.lane = machine.local_index[chosen], machine.lane[chosen]
            self._last_steps = np.full(len(self.lane), -1)
            self.subgroup = machine.row[chosen] - first_row
        assert machine.order is not None
        bound = (each[0] if isinstance(each, tuple) else each for each in machine.resources)
        for memory in (*bound, *machine.addressable, *machine.shared.values()):
            if isinstance(memory, Memory) and not isinstance(memory.accesses, _ObservedAccesses):
                memory.accesses = _ObservedAccesses(self, machine.order, memory)

    def _cut(self, machine: Machine) -> None:
        """Choose the subgroups around one invocation."""
        assert isinstance(machine.arrangement, Arrangement)
        size = machine.arrangement.subgroup_size
        around = linear_index(self._local, machine.arrangement.local_size)
        own = machine.local_index[self._start : self._stop]
        first = max(0, int(np.argmax(own == around)) // size * size - MOST_LANES // 2)
        self._start += min(first, len(own) - MOST_LANES)
        self._stop = self._start + MOST_LANES

    def step(self, frame: Frame, op: Op, value: Value | None) -> None:
        """See an instruction; of a group operation, its operands too."""
        is_group = op.instruction.name.startswith(GROUP_OPERATIONS)
        operands = [frame.regs[slot] for slot in op.arguments if slot is not None] if is_group else []
        self._add(frame, op.instruction.position, value, "", operands)

    def end(self, frame: Frame, ending: Terminator, value: Value | None) -> None:
        """See the end of a segment; a jump is no step."""
        if ending.kind != "jump" and ending.instruction is not None:
            self._add(frame, ending.instruction.position, value, ending.kind, [])

    def _add(
        self, frame: Frame, position: int, value: Value | None, ending: str, operands: list[Value]
    ) -> None:
        """Count a step, and record it if it lies in the window."""
        first, last = self._start, self._stop
        if not frame.lanes.is_all:
            first, last = np.searchsorted(frame.lanes.indices, [first, last]).tolist()
        self._find_event(position)
        if first == last:
            if (others := self._accesses()) and self._is_recording:
                self.steps.append(TracedStep(-1, position, np.zeros(0, np.int64), accesses=others))
            return
        self.first_at.setdefault(position, self.count)
        self.last_at[position] = self.count
        lanes = frame.lanes.indices[first:last] - self._start
        self._last_steps[lanes] = self.count
        if self._is_recording:
            self.steps.append(
                TracedStep(
                    self.count,
                    position,
                    lanes,
                    TracedValue() if value is None else _traced(value, first, last),
                    ending,
                    self._accesses(),
                    [_traced(each, first, last) for each in operands],
                )
            )
        self._pending.clear()
        self.count += 1

    def _find_event(self, position: int) -> None:
        """Look for the wanted event among those reported since the step before.

        One of another instruction, as a loop without an end, belongs to the last step of its invocation.
        """
        assert self.machine is not None
        reported = self.machine.events.reported
        for event in reported[self._events :]:
            if self._wanted(event):
                self.found = self.count if event.position == position else self._last_step_of(event), event
        self._events = len(reported)

    def _last_step_of(self, event: Event) -> int:
        """Return the last step of an event's invocation; of the workgroup if the record lacks it."""
        assert self.machine is not None
        if event.invocation is not None and event.invocation.workgroup == self._workgroup:
            local = linear_index(event.invocation.local, self.machine.arrangement.local_size)
            where = np.flatnonzero(self.local_index == local)
            if where.size:
                return max(0, int(self._last_steps[where[0]]))
        return max(0, self.count - 1)

    @property
    def _is_recording(self) -> bool:
        return self._window is not None and self._window[0] <= self.count < self._window[1]

    # --- accesses -------------------------------------------------------------------------------------

    def access(self, memory: Memory, kind: str, frame: Accessor, target: Target) -> None:
        """See an access to a memory before it takes effect."""
        machine = self.machine
        if machine is None or not self._is_recording:
            return
        who = target.flat(frame, frame.invocations) - machine.first
        offset = target.flat(frame, target.offset)
        own = (who >= self._start) & (who < self._stop)
        # What others read, and their shared memory, changes nothing here.
        kept = own if kind == "read" or memory.kind == "workgroup" else np.ones(len(own), np.bool_)
        others = int(np.count_nonzero(kept & ~own))
        if others and self._others + others > _MOST_OTHERS:
            kept, others, self.others_left_out = own, 0, True
        self._others += others
        if not kept.any():
            return
        if memory not in self.memories:
            self.memories.append(memory)
        offset, who = offset[kept], np.where(own, who - self._start, ~(who + machine.first))[kept]
        before = memory.data[offset[:, None] + np.arange(target.itemsize)]
        number = self.memories.index(memory)
        self._pending.append((number, kind, offset, who, before, target.itemsize))

    def _accesses(self) -> list[TracedAccess]:
        """Return the accesses since the last step, with the bytes as they are now."""
        assert self.machine is not None
        accesses = []
        for number, kind, offset, who, before, size in self._pending:
            memory = self.memories[number]
            after = before if kind == "read" else memory.data[offset[:, None] + np.arange(size)]
            start = (self._number - self.machine.first_workgroup) * (memory.nbytes // memory.copies)
            inside = offset - start if memory.kind == "workgroup" else offset
            accesses.append(TracedAccess(number, kind, inside, who, before, after))
        self._pending.clear()
        return accesses


def linear_index(place: Groups, extent: Groups) -> int:
    """Return the number of a place, counted in the order of x, y and z."""
    return (place[2] * extent[1] + place[1]) * extent[0] + place[0]


def _traced(value: Value, first: int, last: int) -> TracedValue:
    """Return a value in some invocations."""
    # A uniform number may be undefined in some invocations only.
    pairs = [
        (leaf, cause) if cause is None else np.broadcast_arrays(leaf, cause)
        for leaf, cause in zip(value.leaves, value.causes, strict=True)
    ]
    return TracedValue(
        tuple(_cut_to(leaf, first, last) for leaf, _ in pairs),
        tuple(None if cause is None else _cut_to(cause, first, last) for _, cause in pairs),
    )


def _cut_to(array: Data, first: int, last: int) -> Data:
    """Return the first numbers of a leaf in some invocations, (numbers, n); (numbers, 1) if it is uniform."""
    flat = array.reshape(-1, array.shape[-1])[:_MOST_NUMBERS]
    return np.array(flat if flat.shape[-1] == 1 else flat[:, first:last])


def window_around(number: int) -> tuple[int, int]:
    """Return the window of `MOST_STEPS` steps around one."""
    first = max(0, number - int(MOST_STEPS * _BEFORE))
    return first, first + MOST_STEPS
