"""The family of HLSL's intrinsics: programs of subgroup operations, written and compiled in HLSL."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cache

from vkgroup.conformance import support
from vkgroup.conformance.case import Case
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.operands import choices
from vkgroup.conformance.patterns import Pattern, patterns_of
from vkgroup.conformance.program import Program, Spelling
from vkgroup.conformance.spellings.hlsl_intrinsics import (
    GLSL_OF,
    INTRINSICS,
    Intrinsic,
    intrinsic_of,
    row_numbers,
)
from vkgroup.conformance.spellings.hlsl_source import hlsl_of
from vkgroup.conformance.subgroup import SubgroupFamily
from vkgroup.device import Capabilities
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPERATIONS
from vkgroup.spirv import Module

STAGES = ("compute", "fragment")

#: HLSL has no `demote` nor `terminateInvocation`, and no case of a switch that falls through into the next.
_NOT_HLSL = ("switch", "demote", "terminate")

_ROUNDING = ("float", "double")


class HlslFamily(SubgroupFamily):
    """The wave and quad intrinsics of Shader Model 6.0."""

    name = "hlsl"
    categories = ("hlsl",)
    batch, llvm_batch = 24, 8
    special_floats = False

    def cases(self) -> tuple[Case, ...]:
        """Return every case, stage by stage."""
        return hlsl_cases()

    def core(self, case: Case) -> Case:
        """Return the case of KHR_shader_subgroup that has the same result."""
        row = intrinsic_of(case.operation, case.type, case.operand)
        built_in = BUILTIN_VARIABLES.get(row.core) or OPERATIONS[row.core]
        operand = case.operand if case.operand in choices(row.core) else ""
        type_ = GLSL_OF[row.compared or case.type]
        return Case(built_in.category.value, case.stage, row.core, type_, case.pattern, case.data, operand)

    def missing(self, case: Case, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare.

        That is what the core's case needs, votes to keep helper lanes out, and ballots to observe the active
        lanes.
        """
        wanted = ["ballot", *(["vote"] if case.stage == "fragment" else [])]
        needs = support.missing(self.core(case), capabilities)
        needs = [need for need in needs if need != "subgroupBroadcastDynamicId"]
        needs += [
            f"VK_SUBGROUP_FEATURE_{name.upper()}_BIT"
            for name in wanted
            if name not in capabilities.subgroup.supported_operations
        ]
        return list(dict.fromkeys(needs))

    def batch_key(self, case: Case) -> Hashable:
        """Return what makes the program; a core case stands in it once, so that calls can be told apart."""
        return case.stage, case.pattern, bucket(row_numbers()[case.operation, case.type, case.operand])

    def spelling(self, cases: list[Case]) -> Spelling:
        """Return the HLSL of a batch's operations."""
        rows = {
            self.core(case): (intrinsic_of(case.operation, case.type, case.operand).call, case.type)
            for case in cases
        }

        def call(core: Case, arguments: Sequence[str]) -> str:
            text, type_ = rows[core]
            return text.format(*arguments, type=type_)

        return Spelling(call)

    def compiled(self, executor: Executor, program: Program, case: Case) -> Module:
        """Return the module of a program, translated to HLSL."""
        return executor.compile(hlsl_of(program.source, program.stage), stage=case.stage, dialect="hlsl")


def _patterns(stage: str, row: Intrinsic) -> Iterator[Pattern]:
    """Yield the patterns in which an intrinsic's results are known.

    A helper lane takes no part in wave operations, so they cannot tell its value for the quad: quads are
    judged where every lane of them is drawn.
    """
    quads = row.name.startswith("Quad")
    for pattern in patterns_of(stage).values():
        helpers = stage == "fragment" and (pattern.partial or pattern.demotes)
        if pattern.name not in _NOT_HLSL and not (quads and helpers):
            yield pattern


def _cases(stage: str, row: Intrinsic) -> Iterator[Case]:
    for type_ in row.types:
        for data in row.data:
            if data == "rounding" and type_.rstrip("234") not in _ROUNDING:
                continue
            for pattern in _patterns(stage, row):
                for operand in row.operands:
                    yield Case("hlsl", stage, row.name, type_, pattern.name, data, operand)


@cache
def hlsl_cases() -> tuple[Case, ...]:
    """Return every case, stage by stage."""
    return tuple(case for stage in STAGES for row in INTRINSICS for case in _cases(stage, row))


@cache
def bucket(number: int) -> int:
    """Return how many rows before one have its core case for one of its types: those need another program."""
    row = INTRINSICS[number]
    return sum(
        1
        for other in INTRINSICS[:number]
        if other.core == row.core and not _seen(other).isdisjoint(_seen(row))
    )


def _seen(row: Intrinsic) -> set[str]:
    """Return the types that a row's built-in sees."""
    return {row.compared or type_ for type_ in row.types}
