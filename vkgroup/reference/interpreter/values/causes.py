"""Causes: the numbers that say why a value is undefined, and the table that explains them."""

from __future__ import annotations

from vkgroup.dispatch.results import Cause
from vkgroup.reference.interpreter.values.value import HARD

BEFORE_SOFT, BEFORE_HARD = 1, HARD
"""Causes of what an earlier dispatch left in memory."""


class CauseTable:
    """Numbers for causes, as the arrays of `Value.causes` hold them.

    Numbers from `HARD` on mean that a value is undefined. Smaller ones mean that it depends on the order in
    which invocations run.
    """

    def __init__(self) -> None:
        self._records: dict[int, Cause] = {
            BEFORE_SOFT: Cause("order", "an earlier dispatch made it depend on the order of atomics", -1),
            BEFORE_HARD: Cause("before", "it was undefined before this dispatch", -1),
        }
        self._numbers: dict[Cause, int] = {}
        self._next = {False: BEFORE_SOFT + 1, True: BEFORE_HARD + 1}

    def number(self, cause: Cause, *, hard: bool = True) -> int:
        """Return the number of a cause. When the numbers run out, later causes share the last one."""
        if cause not in self._numbers:
            number = self._next[hard]
            if number not in (HARD - 1, 2 * HARD - 1):
                self._next[hard] += 1
            self._numbers[cause] = number
            self._records.setdefault(number, cause)
        return self._numbers[cause]

    def __getitem__(self, number: int) -> Cause:
        return self._records[number]
