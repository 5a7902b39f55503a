"""Executable programs: the program form, and the function of every instruction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vkgroup.base.errors import InvalidModule, OutOfMemory
from vkgroup.reference.interpreter.execution.initial_values import check_built_in
from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.operations.state import Step
from vkgroup.reference.interpreter.operations.steps import Instrument, StepMaker
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.segments import Op, Segment, Terminator
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.spirv import Module


@dataclass(frozen=True, slots=True)
class Code:
    """A segment with the functions of its instructions."""

    #: The function of each instruction, and the slots that nothing reads after it.
    steps: tuple[tuple[Step, tuple[int, ...]], ...]
    #: For each instruction its position, and the slot that a trace shows; -1 for none.
    shown: tuple[tuple[int, int], ...]
    #: `imports`, `exports`: slots to load before, and to store after.
    imports: tuple[int, ...]
    exports: tuple[int, ...]
    temporaries: tuple[int, ...]  # slots to clear at the end
    #: `ending`, `site`: the terminator, and its static facts.
    ending: Terminator
    site: Site


class ExecutableShader(ProgramForm):
    """A compute, vertex or fragment shader, ready to execute.

    `module`: with an entry point of one of these stages.
    `entry_point`: its name; None takes the only one.
    `specialization`: values by specialization id.
    `instrument`: wraps the function of each lane-wise and group instruction; None leaves it as it is.

    Attributes: `code`: the code of each segment, by number.

    Raises
    ------
    Unsupported
        The module needs a feature that the reference device lacks; names the instruction.
    InvalidModule
        The module is invalid.
    OutOfMemory
        The host has no memory for the initial values of the variables.
    """

    def __init__(
        self,
        module: Module,
        entry_point: str | None = None,
        specialization: Mapping[int, Any] | None = None,
        instrument: Instrument | None = None,
    ) -> None:
        super().__init__(module, entry_point, specialization or {}, LANEWISE)
        for name in self.built_ins:
            check_built_in(name, self.stage)
        maker = StepMaker(self, instrument)
        try:
            self.code = tuple(self._code(segment, maker) for segment in self.segments)
        except MemoryError as error:
            raise OutOfMemory(f"The variables need more memory than the host has: {error}.") from None

    def _code(self, segment: Segment, maker: StepMaker) -> Code:
        life = self.liveness.segments[segment.number]
        steps = tuple((maker.step(op), frees) for op, frees in zip(segment.ops, life.frees, strict=True))
        shown = tuple((op.instruction.position, _shown_slot(op)) for op in segment.ops)
        temporaries = tuple({*life.imports, *(op.result for op in segment.ops)} - {-1})
        ending = segment.terminator
        if any(edge.target.number < 0 for edge in ending.edges):
            raise InvalidModule("a branch targets a block that is not reachable in structured order")
        position = ending.instruction.position if ending.instruction is not None else -1
        site = Site(ending.kind, None, (), (), (), (), position, self.causes)
        return Code(steps, shown, life.imports, life.exports, temporaries, ending, site)


def _shown_slot(op: Op) -> int:
    if op.instruction.name == "OpStore":
        return op.arguments[1] if op.arguments[1] is not None else -1
    return op.result
