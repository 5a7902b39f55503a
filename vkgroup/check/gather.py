"""From the interpreter's events to findings: one for each place and kind, whatever number of runs had it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vkgroup.check.findings import Configuration, Finding, Kind, Note, Place
from vkgroup.check.inputs import Inputs
from vkgroup.check.places import Places
from vkgroup.check.runs import Run
from vkgroup.dispatch.events import Event

_FOLLOWS = ("race", "bounds")
"""Causes of undefined values that are findings of their own."""

_BY_DATA = ("bounds", "hang", "division", "math_domain", "shift", "conversion")
"""Events and causes that other inputs may not show."""

_RULES = {
    "inactive_lane": "what a lane that is not active holds is undefined for others",
    "lane_out_of_range": "what a lane holds that the subgroup does not have is undefined",
    "quad": "what a lane holds that the quad does not have is undefined",
    "cooperative_matrix": "the specification of cooperative matrices leaves this undefined",
    "not_uniform": "this operand must be the same in all active lanes, else the result is undefined",
    "cluster": "a cluster must not be larger than the subgroup, else the result is undefined",
    "partition": "the ballots must be a partition of the active lanes, else the result is undefined",
    "empty_ballot": "the number of a bit is undefined where no bit is set",
    "uninitialised": "what nobody has written is undefined",
    "shift": "a shift by as many bits as the number has, or by more, is undefined",
    "division": "the quotient and the remainder of integers are undefined where the divisor is zero",
}
"""What the specification says, by kind of cause, where the message does not say it."""


@dataclass
class _Group:
    """Events that are one finding."""

    event: Event
    place: Place
    configurations: list[Configuration] = field(default_factory=list)
    further: dict[tuple[object, ...], Place] = field(default_factory=dict)


Groups = dict[tuple[object, ...], _Group]


_MOST_LINES = 3
"""Lines that a finding of bounds quotes beside the first."""


def findings_of(
    runs: Iterable[Run], places: Places, inputs: Inputs, natural: frozenset[int] = frozenset()
) -> list[Finding]:
    """Return what the events of all runs amount to, in the order of their lines.

    Parameters
    ----------
    runs : on the reference device.
    places : of the module.
    inputs : of the runs; those that were generated may be to blame.
    natural : positions of instructions that compute with numbers of lanes, which no input changes.
    """
    groups: Groups = {}
    for run in runs:
        adrift = {event.position for event in run.events if event.kind == Kind.UNDEFINED}
        for event in run.events:
            if event.cause is not None and event.cause.kind in _FOLLOWS:
                continue
            if event.kind in _FOLLOWS and adrift & {event.position, event.other_position}:
                # An undefined address is wherever it is; that it is undefined is what there is to say.
                continue
            place = _blamed(event, places)
            group = groups.setdefault(_key(event, place, places, groups), _Group(event, place))
            if _spot(place) != _spot(group.place):
                group.further.setdefault(_spot(place), place)
            if run.configuration not in group.configurations:
                group.configurations.append(run.configuration)
    found = [_finding(group, places, inputs, natural) for group in groups.values()]
    return sorted(found, key=lambda finding: (finding.place.line, finding.place.position, finding.kind))


def _blamed(event: Event, places: Places) -> Place:
    """The place to blame: where an undefined value was made, and where anything else happened."""
    if event.kind == Kind.UNDEFINED and event.cause is not None and event.cause.position >= 0:
        return places[event.cause.position]
    return places[event.position]


def _spot(place: Place) -> tuple[object, ...]:
    """What makes places the same: the line, or without lines the instruction."""
    return (place.file, place.line) if place.line else (place.file, 0, place.position)


def _key(event: Event, place: Place, places: Places, groups: Groups) -> tuple[object, ...]:
    if event.kind == Kind.RACE:
        key = (event.kind, event.memory, _spot(place))
        turned = (event.kind, event.memory, _spot(places[event.other_position]))
        # Which of two accesses comes first is chance: a race seen from its other side is the same.
        return turned if key not in groups and turned in groups else key
    if event.kind == Kind.BOUNDS and event.memory:
        # A buffer that is too small is one finding, however often it is looked at.
        return event.kind, event.memory
    cause = event.cause.kind if event.cause is not None else ""
    return event.kind, cause, *_spot(place)


def _finding(group: _Group, places: Places, inputs: Inputs, natural: frozenset[int]) -> Finding:
    event, cause = group.event, group.event.cause
    notes: list[Note] = []
    message = event.message
    if event.kind == Kind.UNDEFINED and cause is not None:
        message = cause.detail
        label = inputs.label(event.memory, event.offset) if event.offset >= 0 else ""
        what = f"{event.message}: {label}" if label else event.message
        used = places[event.position]
        notes.append(Note(what, used if _spot(used) != _spot(group.place) else None))
        if cause.kind in _RULES:
            notes.append(Note(f"rule: {_RULES[cause.kind]}"))
    if event.kind == Kind.BOUNDS:
        also = list(group.further.values())
        notes += [Note("outside, too", place) for place in also[:_MOST_LINES]]
        notes += [Note(f"and in {len(also) - _MOST_LINES} more lines")] if len(also) > _MOST_LINES else []
    if event.kind == Kind.RACE:
        other = event.other_invocation
        who = f" by invocation {other.local} of workgroup {other.workgroup}" if other is not None else ""
        notes.append(Note(f"the other access{who}", places[event.other_position]))
    kind = cause.kind if cause is not None else event.kind
    if event.kind == Kind.BOUNDS and (made_up := inputs.made_up_length(event.memory)):
        notes.append(Note(made_up))
    elif _is_by_data(kind, inputs) and (cause is None or cause.position not in natural):
        notes.append(
            Note("some inputs were generated; give real ones with --in and --push if these cannot be")
        )
    return Finding(
        Kind(event.kind),
        message,
        group.place,
        tuple(notes),
        event.invocation,
        tuple(group.configurations),
    )


def _is_by_data(kind: str, inputs: Inputs) -> bool:
    """Whether generated inputs may be to blame."""
    return kind in _BY_DATA and (any(entry.generated for entry in inputs.bindings) or bool(inputs.push))
