"""Findings with one cause as one finding, and remarks on what findings have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vkgroup.check.assumptions import Assumption
from vkgroup.check.findings import (
    Finding,
    FindingKind,
    Note,
    SourceLocation,
    SourceLocations,
    notes_of_lines,
)
from vkgroup.reference.interpreter.program.form import DERIVATIVE_GROUPS

_MOST_NAMED = 3
"""Maximum number of other errors whose line and message a finding shows."""

_ORDER = (
    "the shader assumes that invocations are assigned to lanes in the order of gl_LocalInvocationIndex,"
    " which Vulkan does not guarantee"
)
_REMEDY = (
    "it does not occur with lanes in order: do not compute gl_SubgroupID or gl_SubgroupInvocationID from"
    " gl_LocalInvocationIndex, or the other way round; use the variable that is meant, or give --lanes linear"
    " if all devices of the host guarantee the order"
)


def by_cause(findings: Sequence[Finding], assumption: Assumption | None) -> list[Finding]:
    """Return findings with one for all constants of an assumed subgroup size and for the errors they cause.

    An error that occurs only in runs that do not fit the assumed size is attributed to the constants.
    """
    if assumption is None:
        return list(findings)
    constants = [entry for entry in findings if entry.kind == FindingKind.ASSUMES]
    caused = [
        entry
        for entry in findings
        if entry not in constants
        and entry.configurations
        and all(not where.device and assumption.explains(where) for where in entry.configurations)
    ]
    rest = [entry for entry in findings if entry not in constants and entry not in caused]
    return [_merged(constants[0], [*constants[1:], *caused]), *rest] if constants else list(findings)


def by_instruction(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with one for the undefined values of an instruction and what begins to differ there."""
    result: list[Finding] = []
    for entry in findings:
        same = [
            one
            for one in result
            if one.kind == FindingKind.UNDEFINED and one.place.position == entry.place.position
        ]
        if entry.kind == FindingKind.UNDEFINED and same and entry.place.position >= 0:
            result[result.index(same[0])] = _merged(same[0], [entry])
        else:
            result.append(entry)
    for difference in [entry for entry in findings if entry.kind == FindingKind.DIFFERS]:
        begins = {
            note.place.identity for note in difference.notes if note.place and "runs diverge" in note.message
        }
        for entry in result:
            if entry.kind == FindingKind.UNDEFINED and begins == {entry.place.identity}:
                result[result.index(entry)] = _merged(entry, [difference])
                result.remove(difference)
                break
    return result


def by_lane_order(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of a compute shader with one for all errors that vanish with lanes in order."""
    shuffled = [entry for entry in findings if _is_of_shuffled(entry)]
    # A line that shows the same kind of error with lanes in order has another cause.
    in_order = {(entry.kind, entry.place.identity) for entry in findings if entry not in shuffled}
    shuffled = [entry for entry in shuffled if (entry.kind, entry.place.identity) not in in_order]
    if all(entry.weak for entry in shuffled):
        return list(findings)
    first, *others = shuffled
    notes = (Note(f"{first.kind}: {first.message}"), *first.notes)
    whole = _merged(
        replace(first, kind=FindingKind.ASSUMES, message=_ORDER, notes=notes, remedy=_REMEDY), others
    )
    return [whole, *(entry for entry in findings if entry not in shuffled)]


def _is_of_shuffled(finding: Finding) -> bool:
    """Whether an error occurs only with shuffled lanes on the reference device."""
    runs = finding.configurations
    is_own = finding.kind != FindingKind.ASSUMES
    return is_own and bool(runs) and all(where.shuffled and not where.device for where in runs)


def _merged(first: Finding, others: Sequence[Finding]) -> Finding:
    """Return one finding with the lines, runs and values of all."""
    if not others:
        return first
    places: dict[tuple[object, ...], SourceLocation] = {}
    for place in (place for entry in (first, *others) for place in (entry.place, *entry.further)):
        places.setdefault(place.identity, place)
    further = tuple(places.values())[1:]
    lines = {entry.place.identity: entry for entry in reversed(others)}
    shown = [
        Note(f"{entry.kind}: {entry.message}", entry.place)
        for entry in others
        if lines[entry.place.identity] is entry
    ][:_MOST_NAMED]
    quoted = {note.place.identity for note in (*first.notes, *shown) if note.place is not None}
    unquoted = [place for place in further if place.identity not in quoted]
    valued = next((entry for entry in (first, *others) if entry.values), first)
    runs = dict.fromkeys(where for entry in (first, *others) for where in entry.configurations)
    return replace(
        first,
        notes=(*first.notes, *shown, *notes_of_lines("also here", unquoted)),
        invocation=next((entry.invocation for entry in (first, *others) if entry.invocation), None),
        configurations=tuple(runs),
        values=valued.values,
        element=valued.element,
        proved=any(entry.proved for entry in (first, *others)),
        further=further,
    )


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


def with_subgroup_count(
    findings: Iterable[Finding], sizes: Iterable[int], invocations: int, built_ins: Iterable[str]
) -> list[Finding]:
    """Return the findings, with a note on those that occur just where there are more subgroups than lanes.

    The second level of a reduction or scan often has one lane for each subgroup.

    `sizes`: all sizes that ran. `invocations`: of a workgroup. `built_ins`: the built-in variables in use.
    """
    counts = {size: -(-invocations // size) for size in sizes}
    too_many = {size for size, count in counts.items() if count > size}
    if not too_many or too_many == counts.keys() or not {"SubgroupId", "NumSubgroups"} & set(built_ins):
        return list(findings)
    size = max(too_many)
    text = f"needs gl_NumSubgroups ≤ gl_SubgroupSize: there are {counts[size]} subgroups at size {size}"
    result = []
    for finding in findings:
        runs = [where for where in finding.configurations if not where.shuffled and not where.device]
        if {where.subgroup_size for where in runs} == too_many:
            finding = replace(finding, notes=(*finding.notes, Note(text)))
        result.append(finding)
    return result
