"""From the interpreter's events to findings: one for each place and kind, whatever number of runs had it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vkgroup.check.findings import Configuration, Finding, Kind, Note, Place
from vkgroup.check.places import Places
from vkgroup.check.runs import Run
from vkgroup.reference.interpreter.events import Event

_FOLLOWS = ("race", "bounds")
"""Causes of undefined values that are findings of their own."""

_BY_DATA = ("bounds", "hang", "division", "math_domain", "shift", "conversion")
"""Events and causes that other inputs may not show."""


@dataclass
class _Group:
    """Events that are one finding."""

    event: Event
    place: Place
    configurations: list[Configuration] = field(default_factory=list)


Groups = dict[tuple[object, ...], _Group]


def findings_of(runs: Iterable[Run], places: Places, generated: bool) -> list[Finding]:
    """Return what the events of all runs amount to, in the order of their lines.

    Parameters
    ----------
    runs : on the reference device.
    places : of the module.
    generated : whether inputs were generated, which may be to blame.
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
            if run.configuration not in group.configurations:
                group.configurations.append(run.configuration)
    found = [_finding(group, places, generated) for group in groups.values()]
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
    cause = event.cause.kind if event.cause is not None else ""
    return event.kind, cause, *_spot(place)


def _finding(group: _Group, places: Places, generated: bool) -> Finding:
    event = group.event
    notes: list[Note] = []
    message = event.message
    if event.kind == Kind.UNDEFINED and event.cause is not None:
        message = event.cause.detail
        used = places[event.position]
        if _spot(used) != _spot(group.place):
            notes.append(Note(event.message, used))
        else:
            notes.append(Note(event.message))
    if event.kind == Kind.RACE:
        other = event.other_invocation
        who = f" by invocation {other.local} of workgroup {other.workgroup}" if other is not None else ""
        notes.append(Note(f"the other access{who}", places[event.other_position]))
    kind = event.cause.kind if event.cause is not None else event.kind
    if generated and kind in _BY_DATA:
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
