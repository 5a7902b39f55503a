"""The rule on quads of compute shaders, for findings at lines with quad operations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vkgroup.check.findings import Finding, Note, SourceLocations
from vkgroup.reference.interpreter.program.form import DERIVATIVE_GROUPS

_CONSECUTIVE = "rule: a quad of a compute shader is four consecutive lanes of the subgroup, not 2×2 pixels"
_OF_GROUPS = {
    "quads": "rule: with derivative_group_quadsKHR a quad is 2×2 invocations of the workgroup",
    "linear": "rule: with derivative_group_linearKHR a quad is four invocations with consecutive"
    " gl_LocalInvocationIndex",
}


def with_quad_rule(
    findings: Iterable[Finding], places: SourceLocations, modes: Iterable[str]
) -> list[Finding]:
    """Return the findings of a compute shader, those at lines with quad operations with the rule on quads.

    `modes`: the execution modes of the entry point.
    """
    group = next((DERIVATIVE_GROUPS[mode] for mode in modes if mode in DERIVATIVE_GROUPS), "")
    rule = Note(_OF_GROUPS.get(group, _CONSECUTIVE))
    lines = {
        places[position].identity
        for position, entry in places.by_position.items()
        if entry.name.startswith("OpGroupNonUniformQuad")
    }
    result = []
    for finding in findings:
        shown = [finding.place, *finding.further, *(note.place for note in finding.notes if note.place)]
        if lines.intersection(place.identity for place in shown):
            finding = replace(finding, notes=(*finding.notes, rule))
        result.append(finding)
    return result
