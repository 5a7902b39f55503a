"""A case of the older ballots and votes as data, and every case there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from vkgroup.conformance.cases import REQUIRED_SIZES, STAGES, Case
from vkgroup.conformance.legacy_ballot.table import BALLOT, OLDER, Older
from vkgroup.conformance.operands import choices
from vkgroup.conformance.patterns import patterns_of
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPERATIONS
from vkgroup.spec.stages import WORKGROUP_STAGES

EXAMPLE = "dynamic_instances"
"""The operation of the cases that run the document's example (issue 5)."""

_OLDEST = ("compute", "fragment")
"""The stages with modules of SPIR-V 1.3, which has no mesh shaders."""

FORMS = {
    "declared": "as it declares the extension",
    "lowered": "lowered to the instructions of SPIR-V 1.3, in a module of SPIR-V 1.5",
    "lowered_1_3": "lowered to the instructions of SPIR-V 1.3, in a module of that version",
}
"""How a module reaches the device. The last reads an index that is no constant by another instruction."""

_OPERANDS = ("first", "middle", "last", "dynamic")


@dataclass(frozen=True)
class LegacyCase:
    """One case.

    Attributes
    ----------
    stage : a shader stage.
    operation : a name of `OLDER`, or `EXAMPLE`.
    type : the type of its value, or of the variable.
    pattern : who is active; see `vkgroup.conformance.patterns`.
    operand : which invocation is read; "" where the operation reads none.
    form : a name of `FORMS`.
    subgroup_size : the size that the pipeline requires, or 0 for the device's own.
    """

    stage: str
    operation: str
    type: str
    pattern: str
    operand: str
    form: str
    subgroup_size: int = 0

    @property
    def category(self) -> str:
        """The first part of the name."""
        return "legacy_ballot"

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        size = f"size{self.subgroup_size}" if self.subgroup_size else ""
        parts = (self.stage, self.operation, self.type, self.pattern, self.operand, self.form, size)
        return ".".join((self.category, *(part for part in parts if part)))

    @property
    def sentence(self) -> str:
        """What the case tests."""
        if self.operation == EXAMPLE:
            what = f"The example of {BALLOT}, five ballots in nested branches"
            return f"{what}, in a {self.stage.replace('_', ' ')} shader, runs {FORMS[self.form]}."
        reading = f" from {choices(self.older.core)[self.operand].sentence}" if self.operand else ""
        executed = patterns_of(self.stage)[self.pattern].sentence
        shader = f"a {self.stage.replace('_', ' ')} shader"
        if self.subgroup_size:
            shader += f" at a required subgroup size of {self.subgroup_size}"
        return (
            f"{self.operation} of {self.type}{reading}, executed {executed} in {shader}, "
            f"runs {FORMS[self.form]}."
        )

    @property
    def older(self) -> Older:
        """The row of the operation."""
        return OLDER[self.operation]

    @property
    def core(self) -> Case:
        """The case of KHR_shader_subgroup that has the same answer."""
        core = self.older.core
        row = BUILTIN_VARIABLES.get(core) or OPERATIONS[core]
        return Case(
            row.category.value,
            self.stage,
            core,
            self.type,
            self.pattern,
            "exact",
            self.operand,
            subgroup_size=self.subgroup_size,
        )


def _operation_cases(stage: str, older: Older) -> Iterator[LegacyCase]:
    reads = older.core == "subgroupBroadcast"
    for type_ in older.types:
        for pattern in patterns_of(stage):
            for operand in _OPERANDS if reads else ("",):
                for form in FORMS:
                    if form != "lowered_1_3" or (operand == "dynamic" and stage in _OLDEST):
                        case = LegacyCase(stage, older.name, type_, pattern, operand, form)
                        yield case
                        if stage in WORKGROUP_STAGES and pattern == "all" and form == "declared":
                            yield from (replace(case, subgroup_size=size) for size in REQUIRED_SIZES)


@cache
def legacy_cases() -> tuple[LegacyCase, ...]:
    """Return every case, stage by stage."""
    cases = [case for stage in STAGES for older in OLDER.values() for case in _operation_cases(stage, older)]
    cases += [LegacyCase("compute", EXAMPLE, "", "", "", form) for form in ("declared", "lowered")]
    return tuple(cases)
