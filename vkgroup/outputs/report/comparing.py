"""Comparisons in the report: pairs of runs, and their changes as data for the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vkgroup.base.errors import InvalidInput
from vkgroup.outputs.diff import CapabilityChange, became, capability_changes, speed_differences, speed_json
from vkgroup.outputs.history import RunRecord
from vkgroup.outputs.report.capabilities import Sections
from vkgroup.outputs.report.inputs import ReportInputs
from vkgroup.outputs.report.table import LETTERS, NOT_THERE, Table, split
from vkgroup.record.record import Status


def cases_compared(runs: Sequence[RunRecord], table: Table) -> list[dict[str, Any]]:
    """Compare the first run that has cases with each later one.

    Returns for each: ``old`` and ``new``, indices in `runs`; and each list of
    `vkgroup.outputs.diff.CaseDifferences` as ``[head, tails, old statuses, new statuses]`` for each head of
    names, with the numbers of `table`.
    """
    whole = [(number, run.results) for number, run in enumerate(runs) if run.results is not None]
    before = whole[0][1].statuses() if len(whole) > 1 else {}
    found = []
    for number, results in whole[1:]:
        after = results.statuses()
        lists = {name: _blocks(cases, before, after, table) for name, cases in became(before, after).items()}
        found.append({"old": whole[0][0], "new": number, "lists": lists})
    return found


def _blocks(
    cases: Sequence[str], before: Mapping[str, Status], after: Mapping[str, Status], table: Table
) -> list[list[Any]]:
    by_head: dict[str, list[tuple[str, str]]] = {}
    for case in cases:
        head, tail = split(case)
        by_head.setdefault(head, []).append((tail, case))
    return [
        [
            *table.place(head, (tail for tail, _ in members)),
            *("".join(_letter(statuses.get(case)) for _, case in members) for statuses in (before, after)),
        ]
        for head, members in by_head.items()
    ]


def _letter(status: Status | None) -> str:
    return NOT_THERE if status is None else LETTERS[status]


def capabilities_compared(table: Sections) -> list[dict[str, Any]]:
    """Compare the columns of devices with recorded capabilities.

    Each column is compared with the first one of a device of the same name, or else with the first of all.

    Returns for each: ``old`` and ``new``, indices of columns; and ``changes``: ``[group, name, old, new]`` as
    texts.
    """
    telling = [number for number, run in enumerate(table.runs) if run.declared is not None]
    found = []
    for place, new in enumerate(telling[1:], 1):
        same = (number for number in telling[:place] if table.columns[number] == table.columns[new])
        old = next(same, telling[0])
        changes = [
            [one.group, one.name, _words(one.old), _words(one.new)]
            for one in _changes(table.runs[old], table.runs[new])
        ]
        found.append({"old": old, "new": new, "changes": changes})
    return found


def _changes(old: RunRecord, new: RunRecord) -> tuple[CapabilityChange, ...]:
    return capability_changes(old.declared or {}, new.declared or {}, old.experiments, new.experiments)


def _words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def speed_compared(inputs: ReportInputs, threshold: float) -> list[dict[str, Any]]:
    """Compare each run of benchmarks with the first earlier one that has rows in common.

    Returns for each: ``old`` and ``new``, indices in `ReportInputs.benches`, and the fields of
    `vkgroup.outputs.diff.speed_json`.
    """
    found = []
    for number, new in enumerate(inputs.benches):
        for before, old in enumerate(inputs.benches[:number]):
            if inputs.given[before] == inputs.given[number]:
                continue
            try:
                compared = speed_differences(old, new, threshold=threshold)
            except InvalidInput:
                continue
            if compared.changes:
                found.append({"old": before, "new": number, **speed_json(compared)})
                break
    return found
