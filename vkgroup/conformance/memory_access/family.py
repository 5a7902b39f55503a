"""The family of instructions and pointers of extensions that change how lanes access memory.

Variable pointers, untyped pointers, shared memory with an explicit layout, lengths of 64 bits, replicated
composites and fused multiplication; lanes of one subgroup choose differently where they can.
"""

from __future__ import annotations

from typing import NamedTuple

from vkgroup.conformance import marks
from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, one_by_one, table
from vkgroup.conformance.lane_record import LOCAL, TOTAL, compared, lane_shader, random_inputs, run_recorded
from vkgroup.conformance.memory_access.assembly import assembly
from vkgroup.conformance.memory_access.cases import SUBJECTS
from vkgroup.conformance.support import lacking_features
from vkgroup.device import Capabilities


class MemoryAccessAxes(NamedTuple):
    """Axes of a case."""

    stage: str
    subject: str  # key of `SUBJECTS`
    test: str  # key of the subject's tests


MemoryAccessCase = TableCase[MemoryAccessAxes]


def _sentence(axes: MemoryAccessAxes) -> str:
    return f"{SUBJECTS[axes.subject].sentence} ({axes.test})."


_CASES = table(
    "memory_access",
    MemoryAccessAxes,
    _sentence,
    stage=("compute",),
    subject=SUBJECTS,
    test=lambda stage, subject: SUBJECTS[subject].tests,
)


def _needs(case: MemoryAccessCase) -> tuple[str, ...]:
    subject = SUBJECTS[case.axes.subject]
    return *subject.features, *subject.tests[case.axes.test].features


def _missing(case: MemoryAccessCase, capabilities: Capabilities) -> list[str]:
    lacking = lacking_features(_needs(case), capabilities)
    return lacking if capabilities.api_version >= (1, 2) else ["Vulkan 1.2", *lacking]


_LAID_OUT = (
    "OpCapability WorkgroupMemoryExplicitLayoutKHR",
    'OpExtension "SPV_KHR_workgroup_memory_explicit_layout"',
)


def source_of(case: MemoryAccessCase) -> str:
    """Return the GLSL of a case, or its assembly."""
    subject = SUBJECTS[case.axes.subject]
    test, needs = subject.tests[case.axes.test], _needs(case)
    if subject.capabilities:
        shared = "workgroupMemoryExplicitLayout" in needs
        lines = sorted((*subject.capabilities, *(_LAID_OUT if shared else ())))
        return f"; {case.sentence}" + assembly(
            test.body,
            capabilities="\n".join(lines),
            local=LOCAL,
            salt=marks.salt_of(case.name),
            total=TOTAL,
            untyped=case.axes.subject == "untyped_pointers",
            shared=shared,
            modes=subject.modes,
            declarations=test.declarations,
            decorations=test.decorations,
        )
    return lane_shader(case, test.body, extensions=subject.extensions, declarations=test.declarations)


def _verdict(executor: Executor, case: MemoryAccessCase) -> Verdict:
    subject = SUBJECTS[case.axes.subject]
    is_assembly = bool(subject.capabilities)
    dialect, bindings = ("spirv", {"Cells": poisoned(TOTAL)}) if is_assembly else ("vulkan", {})
    module = executor.compile(source_of(case), stage="compute", dialect=dialect)
    recorded, result, _ = run_recorded(executor, case, module, random_inputs(executor), bindings)
    return compared(recorded, result, *subject.tests[case.axes.test].expect(recorded))


MEMORY_ACCESS = Family("memory_access", _CASES, _missing, one_by_one(_verdict))
"""Pointers and memory of newer extensions."""
