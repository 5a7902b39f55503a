"""Preparation: the functions of all instructions of a program, made before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.reference.interpreter.execution.built_ins import check_built_in
from vkgroup.reference.interpreter.execution.terminators import Finish, terminator
from vkgroup.reference.interpreter.operations.state import Step
from vkgroup.reference.interpreter.operations.steps import Instrument, StepMaker
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.segments import Op, Segment


@dataclass(frozen=True, slots=True)
class Code:
    """The functions of a segment.

    Attributes
    ----------
    steps : the function of each instruction, and the slots that nothing reads after it.
    shown : for each instruction its position, and the slot that a trace shows; -1 for none.
    imports, exports : slots to load before, and to store after.
    temporaries : slots to clear at the end.
    finish : the function of the terminator.
    """

    steps: tuple[tuple[Step, tuple[int, ...]], ...]
    shown: tuple[tuple[int, int], ...]
    imports: tuple[int, ...]
    exports: tuple[int, ...]
    temporaries: tuple[int, ...]
    finish: Finish


def prepare(program: ProgramForm, instrument: Instrument | None) -> tuple[Code, ...]:
    """Return the code of every segment.

    Raises
    ------
    Unsupported
        An instruction or a built-in variable is not known; it is named.
    """
    for name in program.built_ins:
        check_built_in(name, program.stage)
    maker = StepMaker(program, instrument)
    return tuple(_code(program, segment, maker) for segment in program.segments)


def _code(program: ProgramForm, segment: Segment, maker: StepMaker) -> Code:
    life = program.liveness.segments[segment.number]
    steps = tuple((maker.step(op), frees) for op, frees in zip(segment.ops, life.frees, strict=True))
    shown = tuple((op.instruction.position, _shown_slot(op)) for op in segment.ops)
    results = {op.result for op in segment.ops} - {-1}
    temporaries = tuple({*life.imports, *results})
    finish = terminator(program, segment)
    return Code(steps, shown, life.imports, life.exports, temporaries, finish)


def _shown_slot(op: Op) -> int:
    if op.instruction.name == "OpStore":
        return op.arguments[1] if op.arguments[1] is not None else -1
    return op.result
