"""Sentences of the cases whose operations are spelled differently than in KHR_shader_subgroup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vkgroup.conformance.intrinsics import BALLOT, EXAMPLE, FORMS, OLDER
from vkgroup.conformance.wave_intrinsics import intrinsic_of
from vkgroup.conformance.wgsl_functions import FUNCTIONS_BY_NAME

Phrase = Callable[[str, str], str]
"""(operation of KHR_shader_subgroup, choice of its operand) → a phrase for the choice; "" for none."""


def _hlsl(case: Any, phrase: Phrase, executed: str, shader: str) -> str:
    row = intrinsic_of(case.operation, case.type, case.operand)
    operand = phrase(row.core, case.operand)
    reading = f", {operand}" if operand else ""
    return (
        f"{case.operation} of {case.type} gives {row.definition}{reading}, {executed} "
        f"in a {shader}, on {case.data} data."
    )


def _wgsl(case: Any, phrase: Phrase, executed: str, shader: str) -> str:
    row = FUNCTIONS_BY_NAME[case.operation]
    operand = phrase(row.core, case.operand)
    reading = f", {operand}" if operand else ""
    return (
        f"{case.operation} of {case.type} gives {row.definition}{reading}, {executed} "
        f"in a {shader}, on {case.data} data."
    )


def _legacy(case: Any, phrase: Phrase, executed: str, shader: str) -> str:
    shader, runs = f"a {shader}", f"runs {FORMS[case.form]}"
    if case.operation == EXAMPLE:
        return f"The example of {BALLOT}, five ballots in nested branches, in {shader}, {runs}."
    operand = phrase(OLDER[case.operation].core, case.operand)
    reading = f" from {operand}" if operand else ""
    if case.subgroup_size:
        shader += f" at a required subgroup size of {case.subgroup_size}"
    return f"{case.operation} of {case.type}{reading}, {executed} in {shader}, {runs}."


def _quad(case: Any, phrase: Phrase, executed: str, shader: str) -> str:
    size = f", a required subgroup size of {case.subgroup_size}" if case.subgroup_size else ""
    instruction = f"OpGroupNonUniformQuad{case.operation[-3:]}KHR"
    return (
        f"{case.operation} votes among the active invocations of the quad, {executed} "
        f"({shader.removesuffix(' shader')}{size}): SPV_KHR_quad_control, {instruction}."
    )


SENTENCES: Mapping[str, Callable[[Any, Phrase, str, str], str]] = {
    "hlsl": _hlsl,
    "hlsl_later": _hlsl,
    "slang": _hlsl,
    "wgsl": _wgsl,
    "legacy_ballot": _legacy,
    "quad_control": _quad,
}
"""By the category of the cases: functions of the case, of `Phrase`, and of two phrases: by which invocations
the operation is executed, and in which shader."""
