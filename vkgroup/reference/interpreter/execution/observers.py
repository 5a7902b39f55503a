"""Observers: what sees each instruction that a slice executes, and the record of chosen invocations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.state import Frame, SliceState
from vkgroup.reference.interpreter.program.segments import Op, Terminator
from vkgroup.reference.interpreter.values.arrangement import Groups
from vkgroup.reference.interpreter.values.value import Value


class Observer:
    """What sees the slices of a dispatch or a stage; these methods do nothing."""

    def begin(self, machine: SliceState) -> None:
        """See a slice before its first instruction."""

    def step(self, frame: Frame, op: Op, value: Value | None) -> None:
        """See an instruction that the invocations of a frame have executed; its operands are still there.

        `value`: its result, or what it stored; None without either.
        """

    def end(self, frame: Frame, ending: Terminator, value: Value | None) -> None:
        """See the end of a segment; `value` is the condition of its branch, or None."""


@dataclass(frozen=True, slots=True)
class ExecutedInstruction:
    """One instruction that an invocation executed."""

    position: int  # of the instruction in the module
    #: Its result, or the value that it stored, as Python numbers; None if it has neither.
    value: tuple[Any, ...] | None


@dataclass
class InstructionTrace(Observer):
    """An observer that records the instructions of chosen invocations."""

    watched: dict[int, tuple[Groups, Groups]]  # workgroup and local id of each, by its number in the dispatch
    #: The instructions that each has executed.
    executed: dict[tuple[Groups, Groups], list[ExecutedInstruction]] = field(default_factory=dict)
    #: A frame, and the watched invocations in it with their indices.
    _among: tuple[Frame | None, dict[tuple[Groups, Groups], int]] = (None, {})

    def step(self, frame: Frame, op: Op, value: Value | None) -> None:
        """Record an executed instruction and its value in each watched invocation."""
        if self._among[0] is not frame:
            self._among = frame, self._watched_among(frame.invocations)
        for name, lane in self._among[1].items():
            numbers: list[Any] = []
            for leaf in value.leaves if value is not None else ():
                numbers += np.asarray(leaf[..., 0 if leaf.shape[-1] == 1 else lane]).reshape(-1).tolist()
            result = None if value is None else tuple(numbers)
            self.executed.setdefault(name, []).append(ExecutedInstruction(op.instruction.position, result))

    def _watched_among(self, numbers: npt.NDArray[np.int64]) -> dict[tuple[Groups, Groups], int]:
        """Return the watched invocations in an ascending list of invocations, with their indices in it."""
        return {
            name: int(np.searchsorted(numbers, number))
            for number, name in self.watched.items()
            if number in numbers
        }
