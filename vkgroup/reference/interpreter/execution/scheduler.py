"""Scheduler: which invocations of a slice execute next.

Invocations wait at segments, and each subgroup executes the lowest segment at which one waits. Since segments
are numbered in structured order, this is the reconvergence of SPV_KHR_maximal_reconvergence. Subgroups wait
for each other only at barriers. A loop may wait for another invocation: after `SPINS` rounds it sleeps until
all other invocations have had a turn.
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.execution.paths import Paths
from vkgroup.reference.interpreter.execution.turns import PATIENCE, UnitTurns
from vkgroup.reference.interpreter.operations.accessor import Flags, LaneSet, Slice
from vkgroup.reference.interpreter.program.segments import Segment

SPINS = 64
"""Rounds of a loop before it sleeps."""


class SegmentScheduler:
    """The invocations of a slice that have not ended, by the segment at which they wait.

    `segments`: of the program.
    `slice_`: the invocations; the scheduler changes its `alive` and `has_hung`.
    `step_limit`: rounds of a loop after which it hangs.
    `paths`: those of the invocations, where not all that meet are together; else None.
    `turns`: the workgroups that make progress; None for all.
    """

    def __init__(
        self,
        segments: list[Segment],
        slice_: Slice,
        step_limit: int,
        paths: Paths | None = None,
        turns: UnitTurns | None = None,
    ) -> None:
        self._paths, self._turns = paths, turns
        #: Invocations that a barrier has released, by its segment.
        self._released: dict[int, LaneSet] = {}
        self._segments, self._slice, self._step_limit = segments, slice_, step_limit
        self._workgroup, self._row = slice_.workgroup, slice_.row
        self._subgroups = int(slice_.row[-1]) + 1
        self._waiting: dict[int, list[LaneSet]] = {0: [slice_.lanes]}
        self._sleeping: list[tuple[int, LaneSet]] = []
        #: Of each loop: the rounds since an invocation entered it, the round in which its last turn began,
        #: and the number of invocations in it when it last fell asleep.
        self._rounds: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._sizes: dict[int, int] = {}

    def wait(self, number: int, lanes: LaneSet, *, after: int) -> None:
        """Record that invocations, coming from segment `after`, wait at segment `number`."""
        if self._segments[number].is_loop:
            if number <= after:
                self._rounds[number] = self._rounds.get(number, 0) + 1
            else:
                self._rounds[number] = 0
                self._last.pop(number, None)
                self._sizes.pop(number, None)
        if self._paths is not None:
            self._paths.arrive(number, lanes, after=after)
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
        while self._waiting or self._sleeping or self._released:
            number, lanes = self._choose()
            if self._rounds.get(number, 0) <= self._step_limit:
                return number, lanes
            self._end_hung_loop(number, lanes)
        return None

    def _choose(self) -> tuple[int, LaneSet]:
        """Remove the invocations that execute next from those that wait, and return them."""
        if self._released:
            number, lanes = self._released.popitem()
            return number, self._together(number, lanes)
        while (chosen := self._first_ready()) is None:
            pass
        return chosen

    def _first_ready(self) -> tuple[int, LaneSet] | None:
        """Remove and return the invocations that execute next; None if another workgroup may execute now."""
        # The second attempt wakes all loops. In the third one, constructs end without all their invocations.
        for attempt in range(2 if self._paths is None else 3):
            claimed = self._rows_asleep()
            for number in sorted(self._waiting):
                lanes = self._merge(number)
                ready = self._ready(number, lanes, claimed)
                if ready and self._paths is not None and attempt < 2 and not self._is_stuck():
                    ready = self._paths.complete(number, ready)
                if ready and not (attempt == 0 and self._sleeps(number, ready)):
                    return number, self._together(number, self._take(number, ready))
                if claimed is None:
                    claimed = np.zeros(self._subgroups, np.bool_)
                claimed[self._row[lanes.selector]] = True
            if attempt == 0 and self._advances():
                return None
            if attempt == 0 and self._sleeping:
                self._wake_up()
        return self._release_barrier()

    def _is_stuck(self) -> bool:
        """Whether all loops that sleep have slept often: they may wait for what follows a construct."""
        rounds = [self._rounds.get(number, 0) for number, _ in self._sleeping]
        return bool(rounds) and min(rounds) > PATIENCE

    def _advances(self) -> bool:
        """Whether another workgroup may execute, since those that may have ended or wait."""
        if self._turns is None:
            return False
        turns = self._turns
        # A loop of a workgroup that was stopped does not go on, and waits for nothing.
        asleep = [(number, lanes) for number, lanes in self._sleeping if turns.of(lanes)]
        waiting = [turns.is_waiting(number, self._rounds.get(number, 0)) for number, _ in asleep]
        if not all(waiting) or not turns.advance():
            return False
        for number, lanes in asleep:
            turns.report(self._position(number), lanes)
        self._wake_up()
        return True

    def _together(self, number: int, lanes: LaneSet) -> LaneSet:
        """Return the invocations that execute a segment first; the others wait there."""
        if self._paths is None:
            return lanes
        self._paths.meet(number, lanes)
        first = self._paths.together(number, lanes)
        if first is not lanes:
            others = lanes.without(first)
            if self._segments[number].is_barrier:
                self._released[number] = others
            else:
                self._waiting.setdefault(number, []).append(others)
        return first

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
        is_barrier = self._segments[number].is_barrier
        if self._turns is not None and not (is_barrier and self._turns.waits_at_barriers):
            lanes = self._turns.of(lanes)
        if not lanes:
            return lanes
        if is_barrier:
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
        is_alone = self._turns is None and len(self._waiting) == 1 and not self._sleeping
        if rounds - self._last.get(number, 0) < SPINS or is_alone:
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
            self._last[number] = self._rounds.get(number, 0)
        self._sleeping = []

    def _rows_asleep(self) -> Flags | None:
        """Return the subgroups with invocations asleep, (subgroups,); None where no loop sleeps."""
        if not self._sleeping:
            return None
        claimed = np.zeros(self._subgroups, np.bool_)
        for _, lanes in self._sleeping:
            claimed[self._row[lanes.selector]] = True
        return claimed

    def _position(self, number: int) -> int:
        """Return the position of a segment in the module."""
        instruction = self._segments[number].terminator.instruction
        position = self._segments[number].position
        return instruction.position if position < 0 and instruction is not None else position

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
        position = self._position(number)
        self._slice.events.add("hang", position, lanes.indices, np.ones(lanes.count, np.bool_), message)
        self._rounds[number] = 0
        self._slice.has_hung = True
        self.end(lanes)
