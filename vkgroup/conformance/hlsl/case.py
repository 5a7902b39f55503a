"""A case of an HLSL intrinsic as data, and every case there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from vkgroup.conformance.cases import Case
from vkgroup.conformance.hlsl.table import GLSL_OF, INTRINSICS, Intrinsic
from vkgroup.conformance.operands import choices
from vkgroup.conformance.patterns import Pattern, patterns_of
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPERATIONS

STAGES = ("compute", "fragment")

#: HLSL has no `demote` nor `terminateInvocation`, and no case of a switch that falls through into the next.
_NOT_HLSL = ("switch", "demote", "terminate")

_ROUNDING = ("float", "double")


@dataclass(frozen=True)
class HlslCase:
    """One case.

    Attributes
    ----------
    stage : one of `STAGES`.
    number : index of its row in `INTRINSICS`.
    type : HLSL type of the value.
    pattern : who is active; see `vkgroup.conformance.patterns`.
    data : data set of its value.
    operand : the second operand; "" where there is none.
    """

    stage: str
    number: int
    type: str
    pattern: str
    data: str
    operand: str

    @property
    def category(self) -> str:
        """The first part of the name."""
        return "hlsl"

    @property
    def intrinsic(self) -> Intrinsic:
        """The row of the intrinsic."""
        return INTRINSICS[self.number]

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        parts = (self.stage, self.intrinsic.name, self.type, self.pattern, self.data, self.operand)
        return ".".join((self.category, *(part for part in parts if part)))

    @property
    def sentence(self) -> str:
        """What the case tests."""
        row = self.intrinsic
        operand = choices(row.core).get(self.operand)
        reading = f", {operand.sentence}" if operand else ""
        executed = patterns_of(self.stage)[self.pattern].sentence
        return (
            f"{row.name} of {self.type} gives {row.definition}{reading}, executed {executed} "
            f"in a {self.stage} shader, on {self.data} data."
        )

    @property
    def core(self) -> Case:
        """The case of KHR_shader_subgroup that has the same answer."""
        row = self.intrinsic
        built_in = BUILTIN_VARIABLES.get(row.core) or OPERATIONS[row.core]
        operand = self.operand if self.operand in choices(row.core) else ""
        type_ = GLSL_OF[row.compared or self.type]
        return Case(built_in.category.value, self.stage, row.core, type_, self.pattern, self.data, operand)


def _patterns(stage: str, row: Intrinsic) -> Iterator[Pattern]:
    """Yield the patterns in which an intrinsic's answers are known.

    A helper lane takes no part in wave operations, so what it holds for its quad cannot be told to it there:
    quads are judged where every lane of them is drawn.
    """
    quads = row.name.startswith("Quad")
    for pattern in patterns_of(stage).values():
        helpers = stage == "fragment" and (pattern.partial or pattern.demotes)
        if pattern.name not in _NOT_HLSL and not (quads and helpers):
            yield pattern


def _cases(stage: str, number: int, row: Intrinsic) -> Iterator[HlslCase]:
    for type_ in row.types:
        for data in row.data:
            if data == "rounding" and type_.rstrip("234") not in _ROUNDING:
                continue
            for pattern in _patterns(stage, row):
                for operand in row.operands:
                    yield HlslCase(stage, number, type_, pattern.name, data, operand)


@cache
def bucket(number: int) -> int:
    """Return how many rows before one have its twin for one of its types: those go into other programs."""
    row = INTRINSICS[number]
    return sum(
        1
        for other in INTRINSICS[:number]
        if other.core == row.core and not _seen(other).isdisjoint(_seen(row))
    )


def _seen(row: Intrinsic) -> set[str]:
    """Return the types that a row's twin sees."""
    return {row.compared or type_ for type_ in row.types}


@cache
def hlsl_cases() -> tuple[HlslCase, ...]:
    """Return every case, stage by stage."""
    return tuple(
        case
        for stage in STAGES
        for number, row in enumerate(INTRINSICS)
        for case in _cases(stage, number, row)
    )
