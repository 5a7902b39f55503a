"""The family of instructions and pointers of extensions that change how lanes access memory.

Variable pointers, untyped pointers, shared memory with an explicit layout, lengths of 64 bits, replicated
composites and fused multiplication; lanes of one subgroup choose differently where they can.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.memory_modules import assembly
from vkgroup.conformance.memory_tests import SUBJECTS
from vkgroup.conformance.reported import GROUPS, LOCAL, TOTAL, ReportedRecord, compared
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
    lacking = [name for name in _needs(case) if name not in capabilities.features]
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
            total=TOTAL,
            untyped=case.axes.subject == "untyped_pointers",
            shared=shared,
            modes=subject.modes,
            declarations=test.declarations,
            decorations=test.decorations,
        )
    extensions = "\n".join(f"#extension {name} : require" for name in subject.extensions)
    return f"""#version 460
// {case.sentence}
// binding 0: inputs; binding 1: outputs (lane, subgroup, result).
#extension GL_KHR_shader_subgroup_basic : require
{extensions}
layout(local_size_x = {LOCAL}) in;
layout(std430, binding = 0) readonly buffer Inputs {{ uint inputs[]; }};
layout(std430, binding = 1) writeonly buffer Outputs {{ uint outputs[]; }};
{test.declarations}
void main() {{
    uint index = gl_GlobalInvocationID.x, local = gl_LocalInvocationIndex;
    uint x = inputs[index], result = 0u;
    {test.body}
    outputs[index] = gl_SubgroupInvocationID;
    outputs[{TOTAL}u + index] = gl_SubgroupID;
    outputs[{2 * TOTAL}u + index] = result;
}}
"""


def _verdict(executor: Executor, case: MemoryAccessCase) -> Verdict:
    inputs = np.random.default_rng(executor.seed).integers(0, 2**32, TOTAL, np.uint32)
    bindings: dict[str, Any] = {"Inputs": inputs, "Outputs": poisoned(3 * TOTAL)}
    dialect = "vulkan"
    if SUBJECTS[case.axes.subject].capabilities:
        dialect, bindings["Cells"] = "spirv", poisoned(TOTAL)
    module = executor.compile(source_of(case), stage="compute", dialect=dialect)
    with executor.device.pipeline(module) as pipeline, pipeline.bind(bindings) as bound:
        bound.dispatch(GROUPS, timeout=executor.timeout)
        planes = bound.results()["Outputs"].reshape(3, GROUPS, LOCAL)
    recorded = ReportedRecord(inputs.reshape(GROUPS, LOCAL), planes[0], planes[1])
    return compared(recorded, planes[2], *SUBJECTS[case.axes.subject].tests[case.axes.test].expect(recorded))


def _verdicts(executor: Executor, cases: list[MemoryAccessCase]) -> list[Verdict]:
    return [_verdict(executor, case) for case in cases]


MEMORY_ACCESS = Family("memory_access", _CASES, _missing, _verdicts)
"""Pointers and memory of newer extensions."""
