"""Who executes next: invocations wait at segments, and a subgroup executes the lowest in which one waits.

Since segments are numbered in structured order, that is the reconvergence of SPV_KHR_maximal_reconvergence.
Subgroups wait for each other at barriers only; loops that go round and round take turns with whoever waits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.arrangement import Part
from vkgroup.reference.interpreter.cells import Index
from vkgroup.reference.interpreter.inline import Segment
from vkgroup.reference.interpreter.log import EventLog

Lanes = npt.NDArray[np.int64]

SPINS = 64
"""Rounds of a loop's turn; then others that wait get theirs."""


class Scheduler:
    """The invocations of a slice that have not ended, by the segment at which they wait.

    Parameters
    ----------
    segments : of the program.
    part : the invocations of the slice.
    events : where to note barriers that not all reach, and loops that do not end.
    step_limit : rounds of a loop after which it hangs.

    Attributes
    ----------
    alive : invocations of each workgroup that have not ended, (workgroups,).
    has_hung : whether a loop did not end. Its invocations were ended, so barriers may miss them.
    """

    def __init__(
        self,
        segments: list[Segment],
        part: Part,
        events: EventLog,
        step_limit: int,
    ) -> None:
        self._segments, self._events, self._step_limit = segments, events, step_limit
        self._workgroup, self._row = part.workgroup, part.row
        self._count = len(part.row)
        self._workgroups = part.workgroups
        self._subgroups = int(part.row[-1]) + 1
        self.alive = np.bincount(part.workgroup, minlength=part.workgroups)
        self.has_hung = False
        self._waiting: dict[int, list[Index]] = {0: [None]}
        self._sleeping: list[tuple[int, Index]] = []
        #: Of each loop the rounds since somebody came in, the round in which its last turn began, and how
        #: many were in it when it last fell asleep.
        self._rounds: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self._crowd: dict[int, int] = {}

    def wait(self, number: int, index: Index, *, after: int) -> None:
        """Let invocations wait at segment `number`; they come from segment `after`."""
        if self._segments[number].is_loop:
            if number <= after:
                self._rounds[number] = self._rounds.get(number, 0) + 1
            else:
                self._rounds[number] = 0
                self._turns.pop(number, None)
                self._crowd.pop(number, None)
        self._waiting.setdefault(number, []).append(index)

    def end(self, index: Index) -> None:
        """End invocations."""
        if index is None:
            self.alive[:] = 0
        else:
            self.alive -= np.bincount(self._workgroup[index], minlength=self._workgroups)

    def next(self) -> tuple[int, Index] | None:
        """Take the invocations that execute next, and say where; None where all have ended.

        A loop that goes on after its limit is noted, and its invocations are ended, so that others can go on.
        """
        while self._waiting or self._sleeping:
            number, index = self._choose()
            if self._rounds.get(number, 0) <= self._step_limit:
                return number, index
            self._hang(number, index)
        return None

    def _choose(self) -> tuple[int, Index]:
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
                    claimed = np.zeros(self._subgroups, np.bool_)
                claimed[self._row if index is None else self._row[index]] = True
            if attempt == 0 and self._sleeping:
                self._wake_up()
        return self._release()

    def _merge(self, number: int) -> Index:
        """Return everybody that waits at a segment, in order."""
        pieces = self._waiting[number]
        if len(pieces) > 1:
            index = np.sort(np.concatenate([piece for piece in pieces if piece is not None]), kind="stable")
            self._waiting[number] = [None if len(index) == self._count else index]
        return self._waiting[number][0]

    def _ready(self, number: int, index: Index, claimed: npt.NDArray[np.bool_] | None) -> Index | bool:
        """Return those that may go on: True for all of them, None for nobody."""
        if index is not None and len(index) == 0:
            return None
        if self._segments[number].is_barrier:
            return self._complete(index)
        if claimed is None:
            return True
        lanes = np.arange(self._count) if index is None else index
        free = ~claimed[self._row[lanes]]
        if free.all():
            return True
        return lanes[free] if free.any() else None

    def _complete(self, index: Index) -> Index | bool:
        """Return the invocations of the workgroups that are all at a barrier."""
        if index is None:
            return True
        arrived = np.bincount(self._workgroup[index], minlength=self._workgroups)
        complete = (arrived == self.alive) & (arrived > 0)
        ready = complete[self._workgroup[index]]
        if ready.all():
            return True
        return index[ready] if ready.any() else None

    def _take(self, number: int, index: Index, chosen: Index | bool) -> Index:
        """Remove those that go on from those that wait."""
        if chosen is True:
            del self._waiting[number]
            return index
        assert isinstance(chosen, np.ndarray)
        lanes = np.arange(self._count) if index is None else index
        self._waiting[number] = [np.setdiff1d(lanes, chosen, assume_unique=True)]
        return chosen

    def _release(self) -> tuple[int, Index]:
        """Nobody can go on: let a barrier go that not all of its workgroup reach."""
        number = min(number for number in self._waiting if self._segments[number].is_barrier)
        index = self._merge(number)
        lanes = np.arange(self._count) if index is None else index
        if not self.has_hung:
            position = self._segments[number].ops[0].instruction.position
            self._events.add(
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
        """Whether a loop has had its turn and sleeps until nobody else can go."""
        rounds = self._rounds.get(number, 0)
        if rounds - self._turns.get(number, 0) < SPINS or (len(self._waiting) == 1 and not self._sleeping):
            return False
        index = self._merge(number)
        crowd = self._count if index is None else len(index)
        if crowd < self._crowd.get(number, crowd):
            # Somebody has got out since: of many that want the same lock, the last waits for all others.
            self._rounds[number] = SPINS
        self._crowd[number] = crowd
        self._sleeping.append((number, self._take(number, index, chosen)))
        return True

    def _wake_up(self) -> None:
        for number, index in self._sleeping:
            self._waiting.setdefault(number, []).append(index)
            self._turns[number] = self._rounds.get(number, 0)
        self._sleeping = []

    def _sleeping_rows(self) -> npt.NDArray[np.bool_] | None:
        if not self._sleeping:
            return None
        claimed = np.zeros(self._subgroups, np.bool_)
        for _, index in self._sleeping:
            claimed[self._row if index is None else self._row[index]] = True
        return claimed

    def _hang(self, number: int, index: Index) -> None:
        """A loop does not end: note it, and end its invocations, so that the others can go on."""
        lanes = np.arange(self._count) if index is None else index
        rows = set(self._row[lanes].tolist())
        others = [
            set(self._row[np.arange(self._count) if piece is None else piece].tolist()) & rows
            for pieces in self._waiting.values()
            for piece in pieces
        ]
        message = f"a loop goes on after {self._step_limit} rounds"
        if any(others):
            message += ", while other invocations of the same subgroup wait for it to end"
        instruction = self._segments[number].terminator.instruction
        position = self._segments[number].position
        if position < 0 and instruction is not None:
            position = instruction.position
        self._events.add("hang", position, lanes, np.ones(len(lanes), np.bool_), message)
        self._rounds[number] = 0
        self.has_hung = True
        self.end(index)
