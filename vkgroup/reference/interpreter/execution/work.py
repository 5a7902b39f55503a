"""Work of an execution: a measure of its time that is the same on every machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

_CALL = 512
"""Invocations for which an instruction takes as long as the call of its function alone."""


@dataclass
class WorkBudget:
    """The work of an execution, and its limit.

    Attributes
    ----------
    limit : the work after which the execution stops before its end.
    spent : so far: for each executed instruction, `_CALL` and the number of invocations that executed it.
    """

    limit: float = math.inf
    spent: int = 0

    def spend(self, instructions: int, invocations: int) -> None:
        """Add the work of instructions that some invocations execute together."""
        self.spent += instructions * (_CALL + invocations)

    @property
    def is_spent(self) -> bool:
        """Whether the limit is reached."""
        return self.spent >= self.limit
