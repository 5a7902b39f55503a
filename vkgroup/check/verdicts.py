"""From comparisons to findings: outputs that differ, sizes that are taken for granted, devices that fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vkgroup.check.assumes import Assumption
from vkgroup.check.compare import Difference
from vkgroup.check.findings import Configuration, Finding, Kind, Note
from vkgroup.check.flow import Flow
from vkgroup.check.parting import Parting, find_parting
from vkgroup.check.places import Places
from vkgroup.check.runs import Dispatch, Run

Differing = Sequence[tuple[Run, Run, Difference]]


def assumption_findings(assumption: Assumption, places: Places) -> list[Finding]:
    """One finding for each line where a constant stands for the size."""
    by_line: dict[tuple[str, int, int], Finding] = {}
    for candidate in assumption.candidates:
        place = places[candidate.position]
        key = (place.file, place.line, 0 if place.line else place.position)
        if key in by_line:
            continue
        notes = []
        values: tuple[tuple[Configuration, str], ...] = ()
        element = ""
        if assumption.example is not None:
            where, difference = assumption.example
            base = assumption.base.configuration
            values = ((base, difference.first), (where, difference.second))
            element = difference.label
            notes.append(
                Note(f"{element} is {difference.first} at {base}, and {difference.second} at {where}")
            )
        by_line[key] = Finding(
            Kind.ASSUMES,
            candidate.message,
            place,
            tuple(notes),
            configurations=assumption.broken,
            values=values,
            element=element,
        )
    return list(by_line.values())


@dataclass
class _Group:
    """Differences in what the same line writes, for the same reason."""

    base: Configuration
    difference: Difference
    partings: list[Parting] = field(default_factory=list)
    configurations: list[Configuration] = field(default_factory=list)
    values: list[tuple[Configuration, str]] = field(default_factory=list)


def difference_findings(
    differing: Differing, dispatch: Dispatch, flow: Flow, places: Places
) -> list[Finding]:
    """One finding for each line that writes what differs, and each reason: size, lanes, device."""
    sizes = {run.configuration.subgroup_size for _, run, _ in differing if not run.configuration.shuffled}
    groups: dict[tuple[str, int], _Group] = {}
    for base, run, difference in differing:
        where = run.configuration
        # A device leaves no trace: only who wrote the number is known, from the reference device.
        other = base.configuration if where.device else where
        parting = find_parting(dispatch, flow, base.configuration, other, difference)
        reason = _DEVICE if where.device else _SIZE if where.subgroup_size in sizes else _LANES
        stored = places[parting.stored]
        key = (reason, stored.line or stored.position)
        group = groups.setdefault(key, _Group(base.configuration, difference))
        group.partings.append(parting)
        group.configurations.append(where)
        if difference.label == group.difference.label:
            group.values.append((where, difference.second))
    return [_finding(reason, group, places) for (reason, _), group in groups.items()]


_SIZE, _LANES, _DEVICE = (
    "the output depends on the subgroup size",
    "the output depends on which lanes the invocations are assigned to",
    "the output differs between the reference device and a real one",
)


def _finding(reason: str, group: _Group, places: Places) -> Finding:
    difference, base, parting = group.difference, group.base, group.partings[0]
    values = ((base, difference.first), *group.values)
    notes = [Note(f"{difference.label} is {_listed(values)}")]
    place = places[parting.position if parting.position >= 0 else parting.stored]
    lines = {place.line}
    for other, where in zip(group.partings, group.configurations, strict=True):
        elsewhere = places[other.position]
        if other.position >= 0 and elsewhere.line not in lines:
            lines.add(elsewhere.line)
            notes.append(Note(f"{where} parts here", elsewhere))
    stored = places[parting.stored]
    if stored.line and stored.line not in lines:
        notes.append(Note(f"{difference.label} is written here", stored))
    where_it_parts = "the runs part here" if parting.position >= 0 else "here it is written"
    return Finding(
        Kind.DIFFERS,
        f"{reason}; {where_it_parts}",
        place,
        tuple(notes),
        parting.invocation,
        tuple(group.configurations),
        values,
        difference.label,
    )


def _listed(values: Sequence[tuple[Configuration, str]]) -> str:
    """Say which configurations give which value, each value once."""
    by_value: dict[str, list[str]] = {}
    for where, value in values:
        by_value.setdefault(value, []).append(str(where))
    return "; ".join(f"{value} at {', '.join(places)}" for value, places in by_value.items())


def failure_finding(configuration: Configuration, failure: str, places: Places) -> Finding:
    """A device that did not run the shader to its end."""
    return Finding(
        Kind.DIFFERS,
        f"{configuration.device} fails where the reference device runs to the end: {failure}",
        places[-1],
        configurations=(configuration,),
    )
