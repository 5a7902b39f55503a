"""The static facts of one instruction, from which its function is made before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.dispatch.events import Cause
from vkgroup.reference.interpreter.values import HARD, Value
from vkgroup.spirv import Type

BEFORE_SOFT, BEFORE_HARD = 1, HARD
"""Causes of what an earlier dispatch left in memory."""


class CauseTable:
    """Numbers for causes, as the arrays of `Value.causes` hold them."""

    def __init__(self) -> None:
        self._records: dict[int, Cause] = {
            BEFORE_SOFT: Cause("order", "an earlier dispatch left it to the order of atomics", -1),
            BEFORE_HARD: Cause("before", "an earlier dispatch, or nobody, wrote it", -1),
        }
        self._numbers: dict[Cause, int] = {}
        self._next = {False: BEFORE_SOFT + 1, True: BEFORE_HARD + 1}

    def number(self, cause: Cause, *, hard: bool = True) -> int:
        """Return the number of a cause; when numbers run out, that of the last one."""
        if cause not in self._numbers:
            number = self._next[hard]
            if number not in (HARD - 1, 2 * HARD - 1):
                self._next[hard] += 1
            self._numbers[cause] = number
            self._records.setdefault(number, cause)
        return self._numbers[cause]

    def __getitem__(self, number: int) -> Cause:
        return self._records[number]


@dataclass(frozen=True, slots=True)
class Site:
    """One instruction as its function's factory sees it.

    Attributes
    ----------
    name : ``"OpFAdd"``; of an extended instruction ``"GLSL.std.450 Sin"``.
    type : of the result; None without one.
    operand_types : of the operands that are values, in order; None for what has no type.
    constants : of the same operands: their value where they are constants, specialization applied.
    literals : all operand words that are no ids, in order.
    scopes : values of the operands that are scopes and memory semantics, in order.
    position : index of the instruction's first word in `Module.words`.
    causes : the table that `cause` numbers in.
    """

    name: str
    type: Type | None
    operand_types: tuple[Type | None, ...]
    constants: tuple[Value | None, ...]
    literals: tuple[int, ...]
    scopes: tuple[int, ...]
    position: int
    causes: CauseTable = field(repr=False, default_factory=CauseTable)

    def cause(self, kind: str, detail: str) -> int:
        """Return a number for values that this instruction leaves undefined.

        Parameters
        ----------
        kind : as in `vkgroup.dispatch.events.Cause`.
        detail : one sentence for people.
        """
        return self.causes.number(Cause(kind, detail, self.position))

    def order_cause(self, detail: str) -> int:
        """Return a number for values that depend on the order in which invocations run."""
        return self.causes.number(Cause("order", detail, self.position), hard=False)
