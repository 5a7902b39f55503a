"""From comparisons to findings: outputs that differ, sizes that are taken for granted, devices that fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from vkgroup.check.assumes import Assumption
from vkgroup.check.compare import Difference
from vkgroup.check.findings import Configuration, Finding, Kind, Note
from vkgroup.check.flow import Flow
from vkgroup.check.parting import Parting, find_parting
from vkgroup.check.places import Places
from vkgroup.check.runs import Dispatch, Run
from vkgroup.check.sizes_in_code import Candidate
from vkgroup.check.words import join

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


def _proof_notes(assumption: Assumption, candidate: Candidate, places: Places) -> list[Note]:
    """Say what the experiment was, and what came out."""
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
    return notes + [Note("this counts the subgroups", places[count.position]) for count in proof.counts]


@dataclass
class _Group:
    """Differences in what the same line writes, for the same reason."""

    base: Configuration
    difference: Difference
    partings: list[Parting] = field(default_factory=list)
    configurations: list[Configuration] = field(default_factory=list)
    values: list[tuple[Configuration, str]] = field(default_factory=list)

    def joined(self, other: _Group) -> _Group:
        """Return one group of both; the example is this one's."""
        same = other.difference.label == self.difference.label
        return _Group(
            self.base,
            self.difference,
            self.partings + other.partings,
            self.configurations + other.configurations,
            self.values + (other.values if same else []),
        )


def difference_findings(
    differing: Differing,
    dispatch: Dispatch,
    flow: Flow,
    places: Places,
    lanes_matter: frozenset[int] = frozenset(),
) -> list[Finding]:
    """One finding for each line that writes what differs, and each reason: size, lanes, device.

    Parameters
    ----------
    differing : pairs of runs with the first difference.
    dispatch, flow, places : of the shader.
    lanes_matter : sizes where the reference device gives something else with shuffled lanes.
    """
    parted = []
    for base, run, difference in differing:
        # A device leaves no trace: only who wrote the number is known, from the reference device.
        other = base.configuration if run.configuration.device else run.configuration
        parting = find_parting(dispatch, flow, base.configuration, other, difference)
        stored = places[parting.stored]
        parted.append((stored.line or stored.position, base, run.configuration, difference, parting))
    in_order = {(line, where.subgroup_size) for line, _, where, *_ in parted if _is_in_order(where)}
    groups: dict[tuple[str, int], _Group] = {}
    for line, base, where, difference, parting in parted:
        reason = _SIZE if (line, where.subgroup_size) in in_order else _LANES
        key = (_DEVICE if where.device else reason, line)
        group = groups.setdefault(key, _Group(base.configuration, difference))
        group.partings.append(parting)
        group.configurations.append(where)
        if difference.label == group.difference.label:
            group.values.append((where, difference.second))
    for (reason, line), group in list(groups.items()):
        same = groups.get((_SIZE, line))
        if reason == _LANES and same is not None and _parts(group, places) == _parts(same, places):
            groups[_BOTH, line] = same.joined(group)
            del groups[reason, line], groups[_SIZE, line]
    found = [_finding(reason, group, places) for (reason, _), group in groups.items()]
    return [_with_doubt(entry) if set(_sizes_on_devices(entry)) & lanes_matter else entry for entry in found]


def _sizes_on_devices(finding: Finding) -> list[int]:
    return [where.subgroup_size for where in finding.configurations if where.device]


def _with_doubt(finding: Finding) -> Finding:
    """Say that the device may be right."""
    doubt = (
        "with shuffled lanes the reference device differs, too: this one may assign lanes in another order"
    )
    return replace(finding, notes=(*finding.notes, Note(doubt)))


def _parts(group: _Group, places: Places) -> int:
    """Return the line where the runs of a group part."""
    return places[group.partings[0].position].line


_SIZE, _LANES, _BOTH, _DEVICE = (
    "the output depends on the subgroup size",
    "the output depends on which lanes the invocations are assigned to",
    "the output depends on the subgroup size, and on which lanes the invocations are assigned to",
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
            notes.append(Note(f"{_at(where)} the runs part here", elsewhere))
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


def _at(where: Configuration) -> str:
    return f"{'on' if where.device else 'at'} {where}"


def _is_in_order(where: Configuration) -> bool:
    """Whether it is a run of the reference device with its lanes in order."""
    return not where.shuffled and not where.device


_MOST_VALUES = 4


def _listed(values: Sequence[tuple[Configuration, str]]) -> str:
    """Say which configurations give which value, each value once; what many give differently, in short."""
    in_order = {where.subgroup_size for where, _ in values[1:] if _is_in_order(where)}
    by_value: dict[str, list[Configuration]] = {}
    for where, value in values:
        # With shuffled lanes, a value says little that the one with lanes in order does not.
        if not where.shuffled or where.subgroup_size not in in_order:
            by_value.setdefault(value, []).append(where)
    parts = [f"{value} at {_together(places)}" for value, places in by_value.items()]
    more = len(parts) - _MOST_VALUES
    return "; ".join(parts[:_MOST_VALUES]) + (f"; and {more} other values" if more > 1 else "")


def _together(places: Sequence[Configuration]) -> str:
    """Name some configurations: ``"size 8, 16 and 32"``."""
    sizes = [where.subgroup_size for where in places if _is_in_order(where)]
    shuffled = sorted(where.subgroup_size for where in places if where.shuffled)
    parts = [f"size {join(sizes)}"] if sizes else []
    parts += [f"size {join(shuffled)} with shuffled lanes"] if shuffled else []
    return "; ".join(parts + [str(where) for where in places if where.device])


def failure_finding(configuration: Configuration, failure: str, places: Places) -> Finding:
    """A device that did not run the shader to its end."""
    return Finding(
        Kind.DIFFERS,
        f"{configuration} fails where the reference device runs to the end: {failure}",
        places[-1],
        configurations=(configuration,),
    )
