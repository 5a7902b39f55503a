"""``--trace`` of ``check`` and ``run``: a page to step through a workgroup; ``--lanes`` of ``run``."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vkgroup.base.choices import SOURCE_DIALECTS
from vkgroup.base.errors import InvalidInput
from vkgroup.base.workgroups import padded_counts
from vkgroup.check import Report
from vkgroup.check.findings import FindingKind
from vkgroup.check.tracing import MOST_TRACES, FindingTrace
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.outputs.lanes import LaneOperation, lane_operations
from vkgroup.outputs.trace import Shown, write_trace
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.recorder import StepRecorder
from vkgroup.reference.trace import Focus, WorkgroupTrace, trace_workgroup
from vkgroup.spirv import Module

Run = Callable[[], tuple[Event, ...]]
"""Executes a dispatch, and returns its events."""


def write_check(arguments: argparse.Namespace, module: Module, report: Report) -> str:
    """Write the page of a check; return what to say about it."""
    if not report.traces:
        return f"{arguments.trace} was not written: the check did not end."
    shown = [_of_finding(each) for each in report.traces]
    _write(arguments, module, shown)
    more = "; it has the first findings only" if len(report.traces) == MOST_TRACES else ""
    return f"Step through it in a browser: {arguments.trace}{more}"


def _of_finding(traced: FindingTrace) -> Shown:
    finding, setting = traced.finding, f"subgroups of {traced.configuration}".replace("of size ", "of ")
    if finding is None:
        return Shown("", "", "", setting, traced.trace)
    message = finding.message.removesuffix("; it is written here")
    if own := next((text for where, text in finding.values if where == traced.configuration), ""):
        # Runs with shuffled lanes would double the list.
        others = [(where, text) for where, text in finding.values if not where.device and text != own]
        texts = [f"{text} at {where}" for where, text in others if not where.shuffled]
        texts = texts or [f"{text} at {where}" for where, text in others]
        message = f"{message}: here, {finding.element} is {own}; it is {', '.join(texts)}"
    notes = [(note.place, note.message) for note in finding.notes if note.place is not None]
    places = [(finding.place, finding.kind.value), *notes]
    marked = [(place.position, words) for place, words in places if place.position >= 0]
    return Shown(finding.kind.value, message, finding.help, setting, traced.trace, marked, finding.element)


def observe_run(arguments: argparse.Namespace, module: Module, device: ReferenceDevice, run: Run) -> str:
    """Execute a dispatch again for ``--trace`` and ``--lanes``; return what to say about it."""

    def execute(recorder: StepRecorder) -> tuple[Event, ...]:
        device.observe(recorder)
        try:
            return run()
        finally:
            device.observe(None)

    workgroup = chosen_workgroup(arguments)
    events = () if arguments.trace is None else execute(StepRecorder())
    setting = device.name.removeprefix("vkgroup reference, ")
    shown: list[Shown] = []
    for event in events if workgroup is None else ():
        who = event.invocation
        if who is not None and len(shown) < MOST_TRACES:
            help_ = FindingKind(event.kind).help
            places = ((event.position, event.kind), (event.other_position, "the other access"))
            marked = [(position, words) for position, words in places if position >= 0]
            trace = trace_workgroup(execute, Focus.of(event, who))
            shown.append(Shown(event.kind, event.message, help_, setting, trace, marked))
    if not shown or arguments.lanes is not None:
        alone = trace_workgroup(execute, Focus(workgroup or (0, 0, 0)))
        shown = shown or [Shown("", "", "", setting, alone)]
        if arguments.lanes is not None:
            _print_lanes(alone, arguments.lanes)
    if arguments.trace is None:
        return ""
    _write(arguments, module, shown)
    kinds = dict.fromkeys(event.kind for event in events)
    found = f"; errors: {', '.join(kinds)}" if kinds else ""
    return f"Step through it in a browser: {arguments.trace}{found}"


def chosen_workgroup(arguments: argparse.Namespace) -> tuple[int, int, int] | None:
    """Return the workgroup that the options choose; None without one."""
    groups = padded_counts(arguments.groups)
    if 0 in groups:
        raise InvalidInput("--trace and --lanes: the dispatch has no workgroups.")
    if arguments.workgroup is None:
        return None
    x, y, z = (*arguments.workgroup, 0, 0)[:3]
    if any(place >= count for place, count in zip((x, y, z), groups, strict=True)):
        raise InvalidInput(
            f"--workgroup {','.join(map(str, arguments.workgroup))}: the dispatch has"
            f" {' x '.join(map(str, groups))} workgroups, which are counted from 0."
        )
    return x, y, z


_MOST_OPERATIONS = 100
"""Most subgroup operations that ``--lanes`` prints."""


def _print_lanes(trace: WorkgroupTrace, subgroup: int) -> None:
    """Print what each lane of a subgroup gives to each subgroup operation, and gets."""
    subgroups = int(trace.recorder.subgroup.max(initial=-1)) + 1
    if subgroup >= subgroups:
        raise InvalidInput(
            f"--lanes {subgroup}: the workgroup has {subgroups} subgroups, which are counted from 0."
        )
    others = f" of {subgroups} (--lanes N for another one)" if subgroups > 1 else ""
    print(f"Workgroup {trace.focus.workgroup}, subgroup {subgroup}{others}")
    operations = list(lane_operations(trace, subgroup))
    for each in operations[:_MOST_OPERATIONS]:
        _print_operation(each)
    if len(operations) > _MOST_OPERATIONS:
        print(f"and {len(operations) - _MOST_OPERATIONS} more; --trace FILE.html has all of them")
    own = sum(step.number >= 0 for step in trace.recorder.steps)
    part = f" in its first {own} steps of {trace.total}" if own < trace.total else ""
    if part or not operations:
        print(f"{'That is all' if operations else 'It executes no subgroup operation'}{part}.")
    texts = (text for each in operations for column in (*each.operands, each.result) for text in column)
    if any(text.endswith("?") for text in texts):
        print("? undefined")


def _print_operation(operation: LaneOperation) -> None:
    """Print one row for each operand and for the result, with a column for each lane."""
    size, absent = len(operation.active), int((~operation.present).sum())
    missing = f" ({absent} have no invocation)" if absent else ""
    place = f"line {operation.line}: {operation.text}" if operation.line else operation.text
    print(f"{place}\n  {operation.name}, {int(operation.active.sum())} of {size} lanes{missing}")
    rows = [("lane", tuple(map(str, range(size))))]
    rows += [("with" if number else "gives", texts) for number, texts in enumerate(operation.operands)]
    rows += [("gets", operation.result)] if any(operation.result) else []
    count = int(np.flatnonzero(operation.present)[-1]) + 1
    column = max(len(text) for _, texts in rows for text in texts) + 2
    fitting = max(1, (max(60, shutil.get_terminal_size((100, 24)).columns) - 12) // column)
    for start in range(0, count, fitting):
        for name, texts in rows:
            cells = (
                texts[lane] or ("." if operation.present[lane] else "-")
                for lane in range(start, min(start + fitting, count))
            )
            print(f"    {name:<6}" + "".join(f"{cell:>{column}}" for cell in cells))


def _write(arguments: argparse.Namespace, module: Module, shown: list[Shown]) -> None:
    shader = Path(arguments.shader)
    dialect = arguments.dialect or SOURCE_DIALECTS.get(shader.suffix, "")
    language = str(dialect) if dialect in SOURCE_DIALECTS.values() else "glsl"
    write_trace(arguments.trace, module, str(shader), language, shown)
