"""Two runs compared: what fails now, what is fixed, what devices can do otherwise, what is slower."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from vkgroup.bench.compare import THRESHOLD, Change, compare
from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status
from vkgroup.errors import InvalidInput
from vkgroup.report.html.capabilities import Sections
from vkgroup.report.html.inputs import Conformance, Data


@dataclass(frozen=True)
class CaseChange:
    """A case whose status is another one; `old` or `new` is empty where a run does not have the case."""

    case: str
    old: str
    new: str


@dataclass(frozen=True)
class CaseDifferences:
    """Two runs by case.

    Attributes
    ----------
    newly_failing : failing in the new run, and not in the old.
    fixed : failing in the old run; in the new it passes, or nothing is defined.
    otherwise : other changes, such as from one kind of failure to another, or to NotSupported.
    only_old, only_new : how many cases are in one run alone (those that fail are `newly_failing` too).
    """

    newly_failing: tuple[CaseChange, ...]
    fixed: tuple[CaseChange, ...]
    otherwise: tuple[CaseChange, ...]
    only_old: int
    only_new: int

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return asdict(self)


def case_differences(old: Iterable[Result], new: Iterable[Result]) -> CaseDifferences:
    """Compare two runs by case."""
    before = {result.case: result.status for result in old}
    failing: list[CaseChange] = []
    fixed: list[CaseChange] = []
    otherwise: list[CaseChange] = []
    only_new = 0
    seen = 0
    for result in new:
        was = before.get(result.case)
        only_new += was is None
        seen += was is not None
        if was == result.status:
            continue
        change = CaseChange(result.case, was.value if was else "", result.status.value)
        bad, bad_before = result.status in AGAINST_THE_DEVICE, was in AGAINST_THE_DEVICE
        if bad and not bad_before:
            failing.append(change)
        elif bad_before and result.status in (Status.PASS, Status.UNDEFINED):
            fixed.append(change)
        elif was is not None:
            otherwise.append(change)
    for changes in (failing, fixed, otherwise):
        changes.sort(key=lambda one: one.case)
    return CaseDifferences(
        tuple(failing), tuple(fixed), tuple(otherwise), only_old=len(before) - seen, only_new=only_new
    )


def runs_compared(runs: list[Conformance]) -> list[dict[str, Any]]:
    """Compare the first run that has cases with each later one; numbers are places in `runs`."""
    whole = [number for number, run in enumerate(runs) if run.results]
    return [
        {"old": whole[0], "new": other}
        | case_differences(runs[whole[0]].results, runs[other].results).to_json()
        for other in whole[1:]
    ]


def capabilities_compared(table: Sections) -> list[dict[str, Any]]:
    """Return what later devices have otherwise than the first: ``[section, label, old, new]`` each.

    Probes are compared with probes, and runs that know little of their devices with such runs.
    """
    found = []
    for other in range(1, len(table.columns)):
        first = table.probed.index(table.probed[other])
        changes = [
            [title, row.label, row.cells[first], row.cells[other]]
            for title, rows in table.sections
            for row in rows
            if row.cells[first] != row.cells[other] and None not in (row.cells[first], row.cells[other])
        ]
        found.append({"old": first, "new": other, "changes": changes})
    return found


def speed_compared(benches: list[Data]) -> list[dict[str, Any]]:
    """Compare each file of benchmarks with the first one given before it that has rows in common."""
    found = []
    for number, new in enumerate(benches):
        for before, old in enumerate(benches[:number]):
            if old.given == new.given:
                continue
            try:
                compared = compare(old.path, new.path)
            except InvalidInput:
                continue
            if compared.changes:
                changes = [_change(change) for change in compared.changes]
                found.append({"old": before, "new": number, "changes": changes})
                break
    return found


def _change(change: Change) -> dict[str, Any]:
    factor = 1e9 if change.unit == "s" else 1.0
    return {
        "name": change.name,
        "unit": "ns" if change.unit == "s" else change.unit,
        "old": [factor * end for end in (change.old.median, change.old.low, change.old.high)],
        "new": [factor * end for end in (change.new.median, change.new.low, change.new.high)],
        "verdict": change.verdict(THRESHOLD),
    }
