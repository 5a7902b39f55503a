"""Findings from comparisons: outputs that differ, subgroup sizes that are assumed, devices that fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from vkgroup.check.assumptions import Assumption
from vkgroup.check.compare import Difference
from vkgroup.check.divergence import Divergence, find_divergence
from vkgroup.check.findings import Configuration, Finding, Kind, Note
from vkgroup.check.flow import Flow
from vkgroup.check.phrases import join
from vkgroup.check.runs import Dispatch, Run
from vkgroup.check.size_constants import Candidate
from vkgroup.check.source_locations import SourceLocations

Differing = Sequence[tuple[Run, Run, Difference]]


def assumption_findings(assumption: Assumption, places: SourceLocations) -> list[Finding]:
    """Return one finding for each line with a constant that stands for the subgroup size."""
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
        proved = assumption.proof is not None and candidate in assumption.proof.candidates
        by_line[key] = Finding(
            Kind.ASSUMES,
            candidate.message,
            place,
            (*notes, *(_proof_notes(assumption, candidate, places) if proved else ())),
            configurations=assumption.broken,
            values=values,
            element=element,
            proved=proved,
        )
    return list(by_line.values())


def _proof_notes(assumption: Assumption, candidate: Candidate, places: SourceLocations) -> list[Note]:
    """Return notes on the experiment and its result."""
    proof = assumption.proof
    if proof is None or candidate.use is None:
        return []
    used = [entry.position for entry in proof.candidates] + [entry.position for entry in proof.counts]
    lines = sorted({places[position].line for position in used} - {0})
    what = f"this constant follows the subgroup size, as {candidate.use.follow.value},"
    if len(used) > 1:
        what = f"the constants in line {join(lines)}" if lines else f"{len(used)} constants"
        what += " follow the subgroup size,"
    sizes = join(proof.sizes)
    notes = [Note(f"proved: if {what} the outputs at size {sizes} are those at size {assumption.size}")]
    return notes + [Note("this is the number of subgroups", places[count.position]) for count in proof.counts]


@dataclass
class _Group:
    """Differences in the values that one line writes, for one reason."""

    base: Configuration
    difference: Difference
    divergences: list[Divergence] = field(default_factory=list)
    configurations: list[Configuration] = field(default_factory=list)
    values: list[tuple[Configuration, str]] = field(default_factory=list)

    def joined(self, other: _Group) -> _Group:
        """Return one group with the entries of both; its example is that of this group."""
        same = other.difference.label == self.difference.label
        return _Group(
            self.base,
            self.difference,
            self.divergences + other.divergences,
            self.configurations + other.configurations,
            self.values + (other.values if same else []),
        )


def difference_findings(
    differing: Differing,
    dispatch: Dispatch,
    flow: Flow,
    places: SourceLocations,
    lanes_matter: frozenset[int] = frozenset(),
) -> list[Finding]:
    """Return one finding for each line that writes a differing value and each reason: size, lanes, device.

    Parameters
    ----------
    differing : pairs of runs with their first difference.
    dispatch, flow, places : the shader's dispatch, data flow and source locations.
    lanes_matter : sizes at which the reference device gives other results with shuffled lanes.
    """
    diverged = []
    for base, run, difference in differing:
        # A real device has no trace. Only the writer of the number is known, from the reference device.
        other = base.configuration if run.configuration.device else run.configuration
        divergence = find_divergence(dispatch, flow, base.configuration, other, difference)
        stored = places[divergence.stored]
        diverged.append((stored.line or stored.position, base, run.configuration, difference, divergence))
    in_order = {(line, where.subgroup_size) for line, _, where, *_ in diverged if _is_in_order(where)}
    groups: dict[tuple[str, int], _Group] = {}
    for line, base, where, difference, divergence in diverged:
        reason = _SIZE if (line, where.subgroup_size) in in_order else _LANES
        key = (_DEVICE if where.device else reason, line)
        group = groups.setdefault(key, _Group(base.configuration, difference))
        group.divergences.append(divergence)
        group.configurations.append(where)
        if difference.label == group.difference.label:
            group.values.append((where, difference.second))
    for (reason, line), group in list(groups.items()):
        same = groups.get((_SIZE, line))
        if reason == _LANES and same is not None and _parts(group, places) == _parts(same, places):
            groups[_BOTH, line] = same.joined(group)
            del groups[reason, line], groups[_SIZE, line]
    findings = [_finding(reason, group, places) for (reason, _), group in groups.items()]
    return [
        _with_doubt(entry) if set(_sizes_on_devices(entry)) & lanes_matter else entry for entry in findings
    ]


def _sizes_on_devices(finding: Finding) -> list[int]:
    return [where.subgroup_size for where in finding.configurations if where.device]


def _with_doubt(finding: Finding) -> Finding:
    """Return the finding with a note that the device may be right."""
    doubt = (
        "the reference device differs with shuffled lanes too: this device may assign lanes in another order"
    )
    return replace(finding, notes=(*finding.notes, Note(doubt)))


def _parts(group: _Group, places: SourceLocations) -> int:
    """Return the line at which the runs of a group diverge."""
    return places[group.divergences[0].position].line


_SIZE, _LANES, _BOTH, _DEVICE = (
    "the output depends on the subgroup size",
    "the output depends on which lanes the invocations are assigned to",
    "the output depends on the subgroup size, and on which lanes the invocations are assigned to",
    "the output differs between the reference device and a real one",
)


def _finding(reason: str, group: _Group, places: SourceLocations) -> Finding:
    difference, base, divergence = group.difference, group.base, group.divergences[0]
    values = ((base, difference.first), *group.values)
    notes = [Note(f"{difference.label} is {_listed(values)}")]
    place = places[divergence.position if divergence.position >= 0 else divergence.stored]
    lines = {place.line}
    for other, where in zip(group.divergences, group.configurations, strict=True):
        elsewhere = places[other.position]
        if other.position >= 0 and elsewhere.line not in lines:
            lines.add(elsewhere.line)
            notes.append(Note(f"{_at(where)} the runs diverge here", elsewhere))
    stored = places[divergence.stored]
    if stored.line and stored.line not in lines:
        notes.append(Note(f"{difference.label} is written here", stored))
    remark = "the runs diverge here" if divergence.position >= 0 else "it is written here"
    return Finding(
        Kind.DIFFERS,
        f"{reason}; {remark}",
        place,
        tuple(notes),
        divergence.invocation,
        tuple(group.configurations),
        values,
        difference.label,
    )


def _at(where: Configuration) -> str:
    return f"{'on' if where.device else 'at'} {where}"


def _is_in_order(where: Configuration) -> bool:
    """Whether a run is one of the reference device with lanes in order."""
    return not where.shuffled and not where.device


_MAX_VALUES = 4


def _listed(values: Sequence[tuple[Configuration, str]]) -> str:
    """Return each value once with its configurations; values beyond `_MAX_VALUES` are only counted."""
    in_order = {where.subgroup_size for where, _ in values[1:] if _is_in_order(where)}
    by_value: dict[str, list[Configuration]] = {}
    for where, value in values:
        # A value with shuffled lanes is listed only if there is none with lanes in order at this size.
        if not where.shuffled or where.subgroup_size not in in_order:
            by_value.setdefault(value, []).append(where)
    parts = [f"{value} at {_together(places)}" for value, places in by_value.items()]
    more = len(parts) - _MAX_VALUES
    return "; ".join(parts[:_MAX_VALUES]) + (f"; and {more} other values" if more > 1 else "")


def _together(places: Sequence[Configuration]) -> str:
    """Return the names of configurations as a list in words: ``"size 8, 16 and 32"``."""
    sizes = [where.subgroup_size for where in places if _is_in_order(where)]
    shuffled = sorted(where.subgroup_size for where in places if where.shuffled)
    parts = [f"size {join(sizes)}"] if sizes else []
    parts += [f"size {join(shuffled)} with shuffled lanes"] if shuffled else []
    return "; ".join(parts + [str(where) for where in places if where.device])


def failure_finding(configuration: Configuration, failure: str, places: SourceLocations) -> Finding:
    """Return the finding for a device on which the shader failed."""
    return Finding(
        Kind.DIFFERS,
        f"{configuration} fails, but the reference device completes: {failure}",
        places[-1],
        configurations=(configuration,),
    )
