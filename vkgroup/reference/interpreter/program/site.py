"""The static facts of one instruction, from which its function is made before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.dispatch.results import Cause
from vkgroup.reference.interpreter.values.causes import CauseTable
from vkgroup.reference.interpreter.values.value import Value
from vkgroup.spirv import Type


@dataclass(frozen=True, slots=True)
class Site:
    """One instruction in the program, as the factory of its function sees it.

    Attributes
    ----------
    name : ``"OpFAdd"``; of an extended instruction ``"GLSL.std.450 Sin"``.
    type : of the result; None without one.
    operand_types : of the operands that are values, in order; None for an operand without a type.
    constants : of the same operands: the value of each that is a constant, specialization applied.
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
        kind : as in `vkgroup.dispatch.results.Cause`.
        detail : one sentence for people.
        """
        return self.causes.number(Cause(kind, detail, self.position))

    def order_cause(self, detail: str) -> int:
        """Return a number for values that depend on the order in which invocations run."""
        return self.causes.number(Cause("order", detail, self.position), hard=False)
