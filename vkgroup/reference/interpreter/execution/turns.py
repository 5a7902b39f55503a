"""Turns: which workgroups, or which of their subgroups, make progress while others wait."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.execution.models import ExecutionModel
from vkgroup.reference.interpreter.operations.accessor import Indices, LaneSet, Slice
from vkgroup.reference.interpreter.program.segments import Op, Segment
from vkgroup.reference.interpreter.program.waiting import writes

PATIENCE = 4096
"""Rounds of a loop after which its invocations count as waiting for others."""

_REASONS = {
    "progress": "this loop waits for a {unit} that has not started",
    "occupancy": "this loop waits for a {unit} that makes no progress",
}
"""By kind of event: what Vulkan, or a device that runs what has started, does not guarantee."""


class UnitTurns:
    """The units of a slice that may execute: workgroups, or subgroups.

    `model`: the execution model, not with fair progress.
    `slice_`: the invocations.
    `loops`: the segments of loops that may wait, as `waiting_loops`.
    """

    def __init__(self, model: ExecutionModel, slice_: Slice, loops: frozenset[int]) -> None:
        self._model, self._slice, self._loops = model, slice_, loops
        self.waits_at_barriers = model.unit == "subgroup"
        self._unit: Indices = slice_.workgroup if model.unit == "workgroup" else slice_.row
        count = int(self._unit[-1]) + 1
        order = np.arange(count)[:: -1 if model.seed == 1 else 1]
        if model.seed > 1:
            order = np.random.default_rng(model.seed).permutation(order)
        self._order: list[int] = order.tolist()
        self._left = list(self._order)
        self._has_executed = True
        self._admitted = np.zeros(count, np.bool_)
        self.advance()

    def of(self, lanes: LaneSet) -> LaneSet:
        """Return the invocations that may execute."""
        admitted = self._admitted[self._unit[lanes.selector]]
        return lanes if admitted.all() else lanes.where(admitted)

    def advance(self) -> bool:
        """Let the next unit execute; return whether there was one.

        A subgroup executes until it ends or waits, then the next one; workgroups go on when they can.
        """
        if self._model.unit == "subgroup":
            if not self._left and self._has_executed:
                self._left, self._has_executed = list(self._order), False
            self._admitted[:] = False
        if not self._left:
            self._admitted[:] = True
            return False
        self._admitted[self._left.pop(0)] = True
        return True

    def is_waiting(self, number: int, rounds: int) -> bool:
        """Whether a loop at a segment counts as waiting for others after some rounds."""
        return number in self._loops and rounds > PATIENCE

    def after(self, segment: Segment) -> None:
        """Record that a segment was executed.

        If a started workgroup may stop, the first one does so after its first atomic or store.
        """
        self._has_executed = True
        model, first = self._model, self._order[0]
        is_first = model.progress == "one" and len(self._left) == len(self._order) - 1
        if model.unit == "workgroup" and is_first and any(map(_changes, segment.ops)):
            self._admitted[:] = True
            self._admitted[first] = False
            self._left = [first]

    def report(self, position: int, lanes: LaneSet) -> None:
        """Report a loop that waits for a unit that makes no progress."""
        model = self._model
        kind = "occupancy" if model.progress == "one" or model.unit == "subgroup" else "progress"
        message = _REASONS[kind].format(unit=model.unit)
        self._slice.events.add(kind, position, lanes.indices, np.ones(lanes.count, np.bool_), message)


def _changes(op: Op) -> bool:
    """Whether an instruction may write memory or an image that other units access."""
    return writes(op) or op.instruction.name == "OpImageWrite"
