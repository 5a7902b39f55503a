"""Traces of the findings of a check: the steps of one workgroup around each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vkgroup.check.findings import Finding, FindingKind, RunParameters
from vkgroup.check.runs import CheckedDispatch
from vkgroup.check.spellings import in_language
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.recorder import StepRecorder
from vkgroup.reference.trace import Focus, WorkgroupTrace, trace_workgroup

_FIRST = (FindingKind.BARRIER, FindingKind.BOUNDS, FindingKind.RACE)
"""Kinds of findings that may be the cause of others, which are shown first."""

MOST_TRACES = 12
"""Most findings with a trace."""


@dataclass(frozen=True)
class FindingTrace:
    """The steps of one workgroup in one run.

    Attributes
    ----------
    finding : the finding at which the trace begins; None for a shader without findings.
    configuration : the run.
    trace : the recorded steps.
    """

    finding: Finding | None
    configuration: RunParameters
    trace: WorkgroupTrace


def traces_of(
    checked: Iterable[tuple[CheckedDispatch, Sequence[Finding]]], usual: RunParameters
) -> tuple[FindingTrace, ...]:
    """Return the traces of findings, each with the dispatch that has shown it.

    `usual`: the run that is shown if there is no finding.

    A difference has the traces of two runs that differ. Possible causes of others come first.
    """
    pairs = list(checked)
    found = [(finding, dispatch) for dispatch, findings in pairs for finding in findings]
    found.sort(key=lambda pair: _FIRST.index(pair[0].kind) if pair[0].kind in _FIRST else len(_FIRST))
    runs = [(dispatch, where, finding) for finding, dispatch in found for where in _runs_of(finding)]
    if not runs:
        dispatch = pairs[0][0]
        return (_traced(dispatch, usual, None),)
    return tuple(_traced(*run) for run in runs[:MOST_TRACES])


def _runs_of(finding: Finding) -> list[RunParameters]:
    """Return the runs of the reference device to show: one, or two with different values."""
    own = [where for where in finding.configurations if not where.device]
    seen: dict[str, RunParameters] = {}
    for where, text in finding.values if finding.kind == FindingKind.DIFFERS else ():
        if not where.device:
            seen.setdefault(text, where)
    # The run with which others are compared comes last: it is the likely right one.
    return list(seen.values())[:2][::-1] or own[:1]


def _traced(dispatch: CheckedDispatch, configuration: RunParameters, finding: Finding | None) -> FindingTrace:
    focus = Focus()
    if finding is not None:
        notes = tuple(note.place.position for note in finding.notes if note.place is not None)
        focus = Focus(
            kind=finding.kind.value, position=finding.place.position, others=notes, message=finding.message
        )
        if finding.invocation is not None:
            focus = replace(focus, workgroup=finding.invocation.workgroup, local=finding.invocation.local)
    # What is recorded takes longer than the run; the time limit of the command remains.
    run = partial(_execute, replace(dispatch, timeout=None), configuration)
    shown = None if finding is None else in_language(finding)
    return FindingTrace(shown, configuration, trace_workgroup(run, focus))


def _execute(
    dispatch: CheckedDispatch, configuration: RunParameters, recorder: StepRecorder
) -> tuple[Event, ...]:
    resources = dispatch.inputs.resources()
    return dispatch.execute(configuration, resources, races=True, observer=recorder).events
