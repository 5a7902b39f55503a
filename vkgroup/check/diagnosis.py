"""Diagnosis: findings from events, differing outputs, assumed subgroup sizes, and devices that fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from vkgroup.base.errors import DispatchTimeout
from vkgroup.check.assumptions import Assumption
from vkgroup.check.comparison import Difference
from vkgroup.check.divergence import Divergence, find_divergence
from vkgroup.check.findings import (
    RACES,
    Finding,
    FindingKind,
    Note,
    RunParameters,
    SourceLocation,
    SourceLocations,
    join,
    notes_of_lines,
)
from vkgroup.check.flow import BY_GROUP, DataFlow
from vkgroup.check.influence import influence_of
from vkgroup.check.lengths import constants_of_lengths
from vkgroup.check.rules import REMEDIES, RULES
from vkgroup.check.runs import CheckedDispatch, CheckedRun
from vkgroup.check.size_constants import SizeCandidate
from vkgroup.reference.events import Event
from vkgroup.spirv import Module

Differing = Sequence[tuple[CheckedRun, CheckedRun, Difference]]


def assumption_findings(assumption: Assumption, places: SourceLocations) -> list[Finding]:
    """Return one finding for each line with a constant that stands for the subgroup size."""
    by_line: dict[tuple[object, ...], Finding] = {}
    notes, element = list[Note](), ""
    values: tuple[tuple[RunParameters, str], ...] = ()
    if assumption.example is not None:
        (where, difference), base = assumption.example, assumption.base.configuration
        values, element = ((base, difference.first), (where, difference.second)), difference.label
        notes = [Note(f"{element} is {difference.first} at {base}, and {difference.second} at {where}")]
    if any(where.shuffled for where in assumption.broken):
        order = "the order of gl_LocalInvocationIndex, which Vulkan does not guarantee"
        notes.append(Note(f"it is right at {assumption.base.configuration} only with lanes in {order}"))
    for candidate in assumption.candidates:
        place = places[candidate.position]
        if place.identity in by_line:
            continue
        proved = assumption.proof is not None and candidate in assumption.proof.candidates
        by_line[place.identity] = Finding(
            FindingKind.ASSUMES,
            candidate.message,
            place,
            (*notes, *(_proof_notes(assumption, candidate, places) if proved else ())),
            configurations=assumption.broken,
            values=values,
            element=element,
            proved=proved,
        )
    return list(by_line.values())


def _proof_notes(assumption: Assumption, candidate: SizeCandidate, places: SourceLocations) -> list[Note]:
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

    base: RunParameters
    difference: Difference
    divergences: list[Divergence] = field(default_factory=list)
    configurations: list[RunParameters] = field(default_factory=list)
    values: list[tuple[RunParameters, str]] = field(default_factory=list)


def difference_findings(
    differing: Differing,
    dispatch: CheckedDispatch,
    flow: DataFlow,
    places: SourceLocations,
    lanes_matter: frozenset[int] = frozenset(),
) -> list[Finding]:
    """Return one finding for each line that writes a differing value and each reason: size, lanes, device.

    `lanes_matter` has the sizes at which the reference device gives other results with shuffled lanes.
    """
    diverged = []
    for base, run, difference in differing:
        # A real device has no trace. Only the writer of the number is known, from the reference device.
        other = base.configuration if run.configuration.device else run.configuration
        try:
            divergence = find_divergence(dispatch, flow, base.configuration, other, difference)
        except DispatchTimeout:  # watching a run takes longer than the run
            divergence = Divergence(-1, -1, None)
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
        if (
            reason == _LANES
            and same is not None
            and places[group.divergences[0].position].line == places[same.divergences[0].position].line
        ):
            same.divergences += group.divergences
            same.configurations += group.configurations
            if group.difference.label == same.difference.label:
                same.values += group.values
            groups[_BOTH, line] = same
            del groups[reason, line], groups[_SIZE, line]
    findings = []
    for (reason, _), group in groups.items():
        finding = _finding(reason, group, places)
        if any(where.device and where.subgroup_size in lanes_matter for where in group.configurations):
            # The device may be right.
            finding = replace(finding, notes=(*finding.notes, Note(_OTHER_LANES)))
        findings.append(finding)
    return findings


_OTHER_LANES = (
    "the reference device differs with shuffled lanes too: this device may assign lanes in another order"
)


_SIZE, _LANES, _BOTH, _DEVICE = (
    "the output depends on the subgroup size",
    "the output depends on which lanes the invocations are assigned to",
    "the output depends on the subgroup size, and on which lanes the invocations are assigned to",
    "the output differs between the reference device and a real one",
)

OF_SIZES = (_SIZE, _LANES, _BOTH)
"""Beginnings of the messages of findings that outputs depend on the size of subgroups, or on their lanes."""


def _finding(reason: str, group: _Group, places: SourceLocations) -> Finding:
    difference, base, divergence = group.difference, group.base, group.divergences[0]
    values = ((base, difference.first), *group.values)
    notes = [Note(f"{difference.label} is {_listed(values)}")]
    is_written = divergence.stored >= 0
    place = places[divergence.stored if is_written else divergence.position]
    diverging: dict[tuple[object, ...], Note] = {}
    for other, where in zip(group.divergences, group.configurations, strict=True):
        first = places[other.position]
        if other.position >= 0 and first.identity not in diverging:
            when = f" at {where}" if diverging else ""
            message = f"the runs diverge here{when}"
            if first.identity == place.identity:
                message = f"the runs diverge in the same line{when}"
            diverging[first.identity] = Note(message, first)
    remark = "it is written here" if is_written else "the runs diverge here"
    return Finding(
        FindingKind.DIFFERS,
        f"{reason}; {remark}",
        place,
        (*diverging.values(), *notes) if is_written else tuple(notes),
        divergence.invocation,
        tuple(group.configurations),
        values,
        difference.label,
    )


def _is_in_order(where: RunParameters) -> bool:
    """Whether a run is one of the reference device with lanes in order."""
    return not where.shuffled and not where.device


_MAX_VALUES = 4


def _listed(values: Sequence[tuple[RunParameters, str]]) -> str:
    """Return each value once with its configurations; values beyond `_MAX_VALUES` are only counted."""
    in_order = {where.subgroup_size for where, _ in values[1:] if _is_in_order(where)}
    by_value: dict[str, list[RunParameters]] = {}
    for where, value in values:
        # A value with shuffled lanes is listed only if there is none with lanes in order at this size.
        if not where.shuffled or where.subgroup_size not in in_order:
            by_value.setdefault(value, []).append(where)
    parts = [f"{value} at {_together(places)}" for value, places in by_value.items()]
    more = len(parts) - _MAX_VALUES
    return "; ".join(parts[:_MAX_VALUES]) + (f"; and {more} other values" if more > 1 else "")


def _together(places: Sequence[RunParameters]) -> str:
    """Return the names of configurations as a list in words: ``"size 8, 16 and 32"``."""
    sizes = [where.subgroup_size for where in places if _is_in_order(where)]
    shuffled = sorted(where.subgroup_size for where in places if where.shuffled)
    parts = [f"size {join(sizes)}"] if sizes else []
    parts += [f"size {join(shuffled)} with shuffled lanes"] if shuffled else []
    return "; ".join(parts + [str(where) for where in places if where.device])


def failure_finding(configuration: RunParameters, failure: str, places: SourceLocations) -> Finding:
    """Return the finding for a device on which the shader failed."""
    return Finding(
        FindingKind.DIFFERS,
        f"{configuration} fails, but the reference device completes: {failure}",
        places[-1],
        configurations=(configuration,),
    )


_SEPARATE_FINDINGS = (*RACES, FindingKind.BOUNDS)
"""Causes of undefined values that are reported as separate findings."""

_DATA_DEPENDENT = ("bounds", "abort", "hang", "division", "math_domain", "shift", "conversion")
"""Events and causes that depend on the values of the inputs."""


@dataclass
class _EventGroup:
    """Events that form one finding."""

    event: Event
    place: SourceLocation
    configurations: list[RunParameters] = field(default_factory=list)
    further: dict[tuple[object, ...], SourceLocation] = field(default_factory=dict)


Groups = dict[tuple[object, ...], _EventGroup]


def findings_of(
    runs: Iterable[CheckedRun],
    places: SourceLocations,
    dispatch: CheckedDispatch,
) -> list[Finding]:
    """Return the findings from the events of runs on the reference device, in the order of their lines."""
    groups: Groups = {}
    for run in runs:
        undefined_positions = {event.position for event in run.events if event.kind == FindingKind.UNDEFINED}
        for event in run.events:
            if event.cause is not None and event.cause.kind in _SEPARATE_FINDINGS:
                continue
            if event.kind in _SEPARATE_FINDINGS and undefined_positions & {
                event.position,
                event.other_position,
            }:
                # The undefined address is reported; the location that it happens to hit is meaningless.
                continue
            # The source of an undefined value is reported instead of its use.
            place = places[event.origin]
            group = groups.setdefault(_key(event, place, places, groups), _EventGroup(event, place))
            if place.identity != group.place.identity:
                group.further.setdefault(place.identity, place)
            if run.configuration not in group.configurations:
                group.configurations.append(run.configuration)
    _join_same_values(groups, places)
    findings = [_event_finding(group, places, dispatch) for group in _merge_races(groups)]
    return sorted(findings, key=lambda finding: (finding.place.line, finding.place.position, finding.kind))


def _merge_races(groups: Groups) -> list[_EventGroup]:
    """Return the groups in the order of their lines, one for all races on a memory, one for barriers.

    Races stay apart if different things are missing, for example a barrier and memoryBarrierBuffer().
    Barriers that invocations miss for one reason belong together.
    """
    merged: Groups = {}
    for group in sorted(groups.values(), key=lambda group: (group.place.line, group.place.position)):
        event = group.event
        missing = event.message.partition(";")[2]
        is_race = event.kind in RACES
        key: tuple[object, ...] = (event.kind, event.memory, missing) if is_race else (event.kind, id(group))
        key = (event.kind, event.message) if event.kind == FindingKind.BARRIER else key
        first = merged.setdefault(key, group)
        if first is not group:
            first.further.setdefault(group.place.identity, group.place)
            first.configurations += [run for run in group.configurations if run not in first.configurations]
    return list(merged.values())


def _join_same_values(groups: Groups, places: SourceLocations) -> None:
    """Add writes of the same value at lines that race on the same memory to the race."""
    racing = {
        (group.event.memory, side): group
        for group in groups.values()
        if group.event.kind == FindingKind.RACE
        for side in _sides(group.event, places)
    }
    for key, group in list(groups.items()):
        sides = {(group.event.memory, side) for side in _sides(group.event, places)}
        if group.event.kind == FindingKind.SAME_VALUE and sides & racing.keys():
            race = racing[min(sides & racing.keys())]
            race.configurations += [run for run in group.configurations if run not in race.configurations]
            del groups[key]


def _sides(event: Event, places: SourceLocations) -> tuple[tuple[object, ...], ...]:
    """Return the lines of both accesses of a race."""
    return places[event.position].identity, places[event.other_position].identity


def _key(event: Event, place: SourceLocation, places: SourceLocations, groups: Groups) -> tuple[object, ...]:
    if event.kind in RACES:
        key = (event.kind, event.memory, place.identity)
        turned = (event.kind, event.memory, places[event.other_position].identity)
        # The order of the two accesses is arbitrary: the same race may be seen from either side.
        return turned if key not in groups and turned in groups else key
    if event.kind == FindingKind.BOUNDS and event.memory:
        # A buffer that is too small is one finding for all its accesses.
        return event.kind, event.memory, event.exceeds_memory
    return event.kind, event.reason, *place.identity


_CHOSEN = "{} workgroups were chosen; if the host dispatches other numbers, give --groups"


def _counts_groups(module: Module, position: int) -> bool:
    """Return whether an address depends on the number of workgroups."""
    influence = influence_of(module)
    return any(influence.built_ins.get(source) in BY_GROUP for source, _ in influence.on_address(position))


def _event_finding(group: _EventGroup, places: SourceLocations, dispatch: CheckedDispatch) -> Finding:
    event, cause, inputs = group.event, group.event.cause, dispatch.inputs
    notes: list[Note] = []
    message, remedy = event.message, REMEDIES.get(event.reason, "")
    further = tuple(group.further.values()) if event.kind != FindingKind.UNDEFINED else ()
    if event.kind == FindingKind.UNDEFINED and cause is not None:
        message = cause.detail
        label = inputs.label(event.memory, event.offset) if event.offset >= 0 else ""
        what = f"{event.message}: {label}" if label else event.message
        used = places[event.position]
        notes.append(Note(what, used if used.identity != group.place.identity else None))
        if cause.read >= 0 and places[cause.read].identity not in (used.identity, group.place.identity):
            notes.insert(0, Note("it is read here", places[cause.read]))
    if event.kind == FindingKind.BOUNDS:
        notes += notes_of_lines("also out of bounds", further)
        if dispatch.chose_groups and _counts_groups(dispatch.program.module, event.position):
            notes.append(Note(_CHOSEN.format(dispatch.groups)))
        for constant in constants_of_lengths(dispatch.program.module, event.position):
            text = f"the length is the specialization constant {constant}; if the host sets it"
            notes.append(Note(f"{text}, give its value: --spec {constant.id}=V"))
    if event.kind in RACES:
        other = event.other_invocation
        who = f" by invocation {other.local} of workgroup {other.workgroup}" if other is not None else ""
        notes.append(Note(f"the other access{who}", places[event.other_position]))
        notes += notes_of_lines("also here", further)
        mine = event.invocation
        if dispatch.chose_groups and other and mine and other.workgroup != mine.workgroup:
            notes.append(Note(_CHOSEN.format(dispatch.groups)))
        if other and mine and other.workgroup != mine.workgroup:
            remedy = REMEDIES["other_workgroup"]
    if event.kind == FindingKind.BARRIER:
        notes += notes_of_lines("also this barrier", further)
    if event.reason in RULES:
        notes.append(Note(f"rule: {RULES[event.reason]}"))
    if event.exceeds_memory and (made_up := inputs.made_up_length(event.memory)):
        notes.append(Note(made_up))
    elif event.reason in _DATA_DEPENDENT and dispatch.generated.reaches(event):
        notes.append(
            Note("some inputs were generated; if they are unrealistic, give real ones with --in and --push")
        )
    return Finding(
        FindingKind(event.kind),
        message,
        group.place,
        tuple(notes),
        event.invocation,
        tuple(group.configurations),
        further=further,
        remedy=remedy,
    )
