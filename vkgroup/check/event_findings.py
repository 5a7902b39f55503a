"""Findings from the interpreter's events: one finding for each location and kind over all runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vkgroup.check.findings import Configuration, Finding, Kind, Note, Place
from vkgroup.check.inputs import Inputs
from vkgroup.check.runs import Run
from vkgroup.check.source_locations import SourceLocations
from vkgroup.dispatch.results import Event

_SEPARATE_FINDINGS = ("race", "bounds")
"""Causes of undefined values that are reported as separate findings."""

_DATA_DEPENDENT = ("bounds", "hang", "division", "math_domain", "shift", "conversion")
"""Events and causes that depend on the values of the inputs."""

_RULES = {
    "inactive_lane": "the value read from an inactive lane is undefined",
    "lane_out_of_range": "the value read from a lane outside the subgroup is undefined",
    "quad": "the value read from a lane outside the quad is undefined",
    "cooperative_matrix": "the specification of cooperative matrices leaves this undefined",
    "not_uniform": "this operand must be the same in all active lanes, else the result is undefined",
    "cluster": "a cluster must not be larger than the subgroup, else the result is undefined",
    "partition": "the ballots must be a partition of the active lanes, else the result is undefined",
    "empty_ballot": "the index of a bit is undefined if no bit is set",
    "uninitialised": "unwritten memory holds undefined values",
    "shift": "a shift by the width of the number or more is undefined",
    "division": "the quotient and the remainder of integers are undefined if the divisor is zero",
}
"""Rules of the specification by kind of cause, for causes whose message does not state the rule."""


@dataclass
class _Group:
    """Events that form one finding."""

    event: Event
    place: Place
    configurations: list[Configuration] = field(default_factory=list)
    further: dict[tuple[object, ...], Place] = field(default_factory=dict)


Groups = dict[tuple[object, ...], _Group]


_MAX_LINES = 3
"""Maximum number of further lines that a bounds finding quotes."""


def findings_of(
    runs: Iterable[Run], places: SourceLocations, inputs: Inputs, natural: frozenset[int] = frozenset()
) -> list[Finding]:
    """Return the findings from the events of all runs, in the order of their lines.

    Parameters
    ----------
    runs : runs on the reference device.
    places : source locations of the module.
    inputs : inputs of the runs; generated ones may be the cause of an event.
    natural : positions of instructions that compute with lane numbers only, which no input changes.
    """
    groups: Groups = {}
    for run in runs:
        undefined_positions = {event.position for event in run.events if event.kind == Kind.UNDEFINED}
        for event in run.events:
            if event.cause is not None and event.cause.kind in _SEPARATE_FINDINGS:
                continue
            if event.kind in _SEPARATE_FINDINGS and undefined_positions & {
                event.position,
                event.other_position,
            }:
                # The undefined address is reported; the location that it happens to hit is meaningless.
                continue
            place = _reported_location(event, places)
            group = groups.setdefault(_key(event, place, places, groups), _Group(event, place))
            if _identity(place) != _identity(group.place):
                group.further.setdefault(_identity(place), place)
            if run.configuration not in group.configurations:
                group.configurations.append(run.configuration)
    findings = [_finding(group, places, inputs, natural) for group in groups.values()]
    return sorted(findings, key=lambda finding: (finding.place.line, finding.place.position, finding.kind))


def _reported_location(event: Event, places: SourceLocations) -> Place:
    """Return the location to report: the source of an undefined value; else the location of the event."""
    if event.kind == Kind.UNDEFINED and event.cause is not None and event.cause.position >= 0:
        return places[event.cause.position]
    return places[event.position]


def _identity(place: Place) -> tuple[object, ...]:
    """Return the identity of a location: its line, or its instruction if there are no lines."""
    return (place.file, place.line) if place.line else (place.file, 0, place.position)


def _key(event: Event, place: Place, places: SourceLocations, groups: Groups) -> tuple[object, ...]:
    if event.kind == Kind.RACE:
        key = (event.kind, event.memory, _identity(place))
        turned = (event.kind, event.memory, _identity(places[event.other_position]))
        # The order of the two accesses is arbitrary: the same race may be seen from either side.
        return turned if key not in groups and turned in groups else key
    if event.kind == Kind.BOUNDS and event.memory:
        # A buffer that is too small is one finding for all its accesses.
        return event.kind, event.memory
    cause = event.cause.kind if event.cause is not None else ""
    return event.kind, cause, *_identity(place)


def _finding(group: _Group, places: SourceLocations, inputs: Inputs, natural: frozenset[int]) -> Finding:
    event, cause = group.event, group.event.cause
    notes: list[Note] = []
    message = event.message
    if event.kind == Kind.UNDEFINED and cause is not None:
        message = cause.detail
        label = inputs.label(event.memory, event.offset) if event.offset >= 0 else ""
        what = f"{event.message}: {label}" if label else event.message
        used = places[event.position]
        notes.append(Note(what, used if _identity(used) != _identity(group.place) else None))
        if cause.kind in _RULES:
            notes.append(Note(f"rule: {_RULES[cause.kind]}"))
    if event.kind == Kind.BOUNDS:
        also = list(group.further.values())
        notes += [Note("also out of bounds", place) for place in also[:_MAX_LINES]]
        notes += [Note(f"and in {len(also) - _MAX_LINES} more lines")] if len(also) > _MAX_LINES else []
    if event.kind == Kind.RACE:
        other = event.other_invocation
        who = f" by invocation {other.local} of workgroup {other.workgroup}" if other is not None else ""
        notes.append(Note(f"the other access{who}", places[event.other_position]))
    kind = cause.kind if cause is not None else event.kind
    if event.kind == Kind.BOUNDS and (made_up := inputs.made_up_length(event.memory)):
        notes.append(Note(made_up))
    elif _depends_on_data(kind, inputs) and (cause is None or cause.position not in natural):
        notes.append(
            Note("some inputs were generated; if they are unrealistic, give real ones with --in and --push")
        )
    return Finding(
        Kind(event.kind),
        message,
        group.place,
        tuple(notes),
        event.invocation,
        tuple(group.configurations),
    )


def _depends_on_data(kind: str, inputs: Inputs) -> bool:
    """Whether generated inputs may be the cause."""
    return kind in _DATA_DEPENDENT and (
        any(entry.generated for entry in inputs.bindings) or bool(inputs.push)
    )
