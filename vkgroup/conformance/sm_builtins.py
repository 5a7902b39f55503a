"""The family of VK_NV_shader_sm_builtins: one shader for all cases of a stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import recording
from vkgroup.conformance.arrays import Words
from vkgroup.conformance.comparison import Verdict, verdict_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.recording import LOCAL_SIZE, RECORD, STAGES
from vkgroup.device import Capabilities, SmBuiltins
from vkgroup.record.record import Status
from vkgroup.reference.semantics.thread_group import is_legal_id_nv

VARIABLES = ("gl_WarpsPerSMNV", "gl_SMCountNV", "gl_WarpIDNV", "gl_SMIDNV")
"""The variables of GL_NV_shader_sm_builtins, in the order of their planes."""


@dataclass(frozen=True)
class BuiltinTest:
    """A rule that the values of the variables must satisfy."""

    name: str  # its part in the names of cases
    sentence: str  # the rule; ``{}`` stands for the variable
    variables: tuple[str, ...]  # variables to which it applies
    stages: tuple[str, ...] = STAGES  # stages in which it is tested


_TESTS = (
    BuiltinTest(
        "property", "{} is what VkPhysicalDeviceShaderSMBuiltinsPropertiesNV says, in every invocation",
        VARIABLES[:2],
    ),
    BuiltinTest("range", "{} is below the number of its kind in every invocation", VARIABLES[2:]),
    BuiltinTest("subgroup", "{} is the same in all invocations of a subgroup", VARIABLES[2:]),
    BuiltinTest(
        "workgroup", "How the invocations of a workgroup share {}, which the specification does not say",
        VARIABLES[2:], ("compute",),
    ),
)  # fmt: skip

TESTS: dict[str, BuiltinTest] = {test.name: test for test in _TESTS}
"""All tests by name."""


class SmAxes(NamedTuple):
    """The axes: a stage, a variable and a key of `TESTS`."""

    stage: str
    variable: str
    test: str


SmCase = TableCase[SmAxes]


_CASES = table(
    "sm_builtins",
    SmAxes,
    lambda axes: f"{TESTS[axes.test].sentence.format(axes.variable)}, in {axes.stage} shaders.",
    stage=STAGES,
    test=TESTS,
    variable=lambda stage, test: TESTS[test].variables if stage in TESTS[test].stages else (),
)


def _missing(case: SmCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks."""
    needs = recording.missing(case.axes.stage, capabilities)
    if "shaderSMBuiltins" not in capabilities.features or capabilities.sm_builtins is None:
        needs.append("shaderSMBuiltins")
    return needs


def _verdicts(executor: Executor, cases: list[SmCase]) -> list[Verdict]:
    """Execute cases of one stage and return their verdicts."""
    stage = cases[0].axes.stage
    body = "\n    ".join(
        f"record({len(RECORD) + plane}u, {variable});" for plane, variable in enumerate(VARIABLES)
    )
    extensions = ("GL_NV_shader_sm_builtins",)
    words = recording.observed(
        executor, stage, len(VARIABLES), "Records the SM built-ins.", body, extensions=extensions
    )
    built_ins = executor.capabilities.sm_builtins
    assert built_ins is not None
    return [_verdict(case, words, built_ins) for case in cases]


def _verdict(case: SmCase, words: Words, built_ins: SmBuiltins) -> Verdict:
    """Return the verdict on a case from the recorded planes, (planes, invocations)."""
    if absent := recording.absence(case.axes.stage, words):
        return Verdict(Status.FAIL, 0, 0, absent)
    subgroup = words[RECORD.index("subgroup")]
    got = words[len(RECORD) + VARIABLES.index(case.axes.variable)]
    of_warps = "Warp" in case.axes.variable
    number = built_ins.warps_per_sm if of_warps else built_ins.sm_count
    if case.axes.test == "workgroup":
        return _told(case, words)
    if case.axes.test == "property":
        wrong, expected = got != number, str(number)
    elif case.axes.test == "range":
        wrong, expected = got >= number, f"less than {number}"
    else:
        wrong, expected = _differing(got, subgroup), "the same in its subgroup"
    description = recording.description(
        words,
        lambda index: f"expected {expected} got {got[index]}",
        lambda same: {"expected": [expected] * len(same), "got": map(str, got[same])},
        case.axes.variable,
    )
    return verdict_of(wrong, description, defined=len(got))


def _differing(got: Words, subgroup: Words) -> NDArray[np.bool_]:
    """Return which invocations have a value that differs within their subgroup."""
    wrong = np.zeros(len(got), np.bool_)
    order = np.argsort(subgroup, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(subgroup[order])) + 1):
        value = got[members][None]
        # Another case tests the range; here any number is legal.
        wrong[members] = ~is_legal_id_nv(value, np.ones(value.shape, np.bool_), 1 << 32)[0]
    return wrong


def _told(case: SmCase, words: Words) -> Verdict:
    """Return a note on SMs and warp ids per workgroup; no specification requires that they stay constant."""
    sm, warp = (words[len(RECORD) + VARIABLES.index(name)] for name in ("gl_SMIDNV", "gl_WarpIDNV"))
    groups = len(sm) // LOCAL_SIZE
    of_group = sm.reshape(groups, LOCAL_SIZE)
    if case.axes.variable == "gl_SMIDNV":
        one = int((of_group == of_group[:, :1]).all(axis=1).sum())
        text = f"{one} of {groups} workgroups were on one SM; {len(np.unique(sm))} SMs were used"
        return Verdict(Status.UNDEFINED, 0, len(sm), text)
    subgroup = words[RECORD.index("subgroup")]
    places = np.stack([np.arange(len(sm)) // LOCAL_SIZE, sm, warp, subgroup], axis=1)
    warps = np.unique(places, axis=0)
    apart = len(np.unique(warps[:, :3], axis=0))
    text = f"{len(warps)} subgroups of {groups} workgroups had {apart} different pairs of SM and warp there"
    return Verdict(Status.UNDEFINED, 0, len(sm), text)


SM_BUILTINS = Family("sm_builtins", _CASES, _missing, _verdicts, lambda case: case.axes.stage)
"""gl_WarpsPerSMNV, gl_SMCountNV, gl_WarpIDNV and gl_SMIDNV."""
