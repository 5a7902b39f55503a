"""Traces: the results of chosen invocations, instruction by instruction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vkgroup.reference.interpreter.execution.arrangement import Groups
from vkgroup.reference.interpreter.execution.prepare import Code
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.values.value import Value


@dataclass(frozen=True, slots=True)
class Executed:
    """One instruction that an invocation executed.

    Attributes
    ----------
    position : of the instruction in the module.
    value : its result, or the value that it stored, as plain numbers; None where it has neither.
    """

    position: int
    value: tuple[Any, ...] | None


@dataclass
class Trace:
    """Records the instructions of chosen invocations.

    Attributes
    ----------
    watched : workgroup and local id of each, by its number in the dispatch.
    executed : the instructions that each has executed.
    """

    watched: dict[int, tuple[Groups, Groups]]
    executed: dict[tuple[Groups, Groups], list[Executed]] = field(default_factory=dict)

    def execute(self, frame: Frame, code: Code) -> None:
        """Execute the steps of a segment, and record them."""
        numbers = frame.invocations
        watched = [
            (int(np.searchsorted(numbers, number)), name)
            for number, name in self.watched.items()
            if number in numbers
        ]
        regs = frame.regs
        for (step, frees), (position, shown) in zip(code.steps, code.shown, strict=True):
            step(frame)
            value = regs[shown] if shown >= 0 else None
            for lane, name in watched:
                result = None if value is None else _numbers_in(value, lane)
                self.executed.setdefault(name, []).append(Executed(position, result))
            for slot in frees:
                regs[slot] = None


def _numbers_in(value: Value, lane: int) -> tuple[Any, ...]:
    """Return all numbers of a value in one invocation."""
    numbers: list[Any] = []
    for leaf in value.leaves:
        own = leaf[..., 0] if leaf.shape[-1] == 1 else leaf[..., lane]
        numbers += np.asarray(own).reshape(-1).tolist()
    return tuple(numbers)
