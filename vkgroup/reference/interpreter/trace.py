"""What some invocations computed, instruction by instruction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vkgroup.reference.interpreter.arrangement import Groups
from vkgroup.reference.interpreter.values import Value

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.frame import Frame
    from vkgroup.reference.interpreter.prepare import Code


@dataclass(frozen=True, slots=True)
class Executed:
    """One instruction that an invocation executed.

    Attributes
    ----------
    position : of the instruction in the module.
    value : its result, or what it stored, as plain numbers; None where it has neither.
    """

    position: int
    value: tuple[Any, ...] | None


@dataclass
class Trace:
    """Records the instructions of chosen invocations.

    Attributes
    ----------
    watched : number in the dispatch of each, by its workgroup and its place there.
    executed : what each has executed.
    """

    watched: dict[int, tuple[Groups, Groups]]
    executed: dict[tuple[Groups, Groups], list[Executed]] = field(default_factory=dict)

    def segment(self, frame: Frame, code: Code) -> None:
        """Execute a segment, and record it."""
        numbers = frame.machine.invocations(frame.index)
        places = [
            (int(np.searchsorted(numbers, number)), name)
            for number, name in self.watched.items()
            if number in numbers
        ]
        regs = frame.regs
        for (step, frees), (position, shown) in zip(code.steps, code.shown, strict=True):
            step(frame)
            value = regs[shown] if shown >= 0 else None
            for place, name in places:
                numbers_there = None if value is None else _at(value, place)
                self.executed.setdefault(name, []).append(Executed(position, numbers_there))
            for slot in frees:
                regs[slot] = None


def _at(value: Value, place: int) -> tuple[Any, ...]:
    """Return all numbers of a value in one invocation."""
    found: list[Any] = []
    for leaf in value.leaves:
        mine = leaf[..., 0] if leaf.shape[-1] == 1 else leaf[..., place]
        found += np.asarray(mine).reshape(-1).tolist()
    return tuple(found)
