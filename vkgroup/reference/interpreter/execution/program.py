"""A program ready to execute: its form, and the function of every instruction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.reference.interpreter.execution.prepare import prepare
from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.spirv import Module


class Program(ProgramForm):
    """A compute, vertex or fragment shader, ready to execute.

    Parameters
    ----------
    module : with an entry point of one of these stages.
    entry_point : its name; None takes the only one.
    specialization : values by specialization id.
    instrument : wraps the function of each lane-wise and group instruction; None leaves it as it is.

    Attributes
    ----------
    code : the code of each segment, by number.

    Raises
    ------
    Unsupported
        The module needs a feature that the reference device lacks; names the instruction.
    InvalidModule
        The module contradicts itself.
    """

    def __init__(
        self,
        module: Module,
        entry_point: str | None = None,
        specialization: Mapping[int, Any] | None = None,
        instrument: Instrument | None = None,
    ) -> None:
        super().__init__(module, entry_point, specialization or {}, LANEWISE)
        self.code = prepare(self, instrument)
