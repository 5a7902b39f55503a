"""Comparison of two runs by cause, case, capability, speed and statistics of the compiler."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from vkgroup.base.choices import BENCH_THRESHOLD
from vkgroup.base.errors import InvalidInput
from vkgroup.bench.compare import Comparison, between
from vkgroup.record.causes import causes_of
from vkgroup.record.record import AGAINST_THE_DEVICE, UNEXECUTED, Results, RunInfo, RunRecord, Status
from vkgroup.record.statistics import StatisticDifferences, statistic_differences

_GROUPS = {"features": "feature", "extensions": "extension", "limits": "limit"}
_ORDER = ("property", *_GROUPS.values(), "experiment")
_SENTENCES = ("status", "sentence")
# Identifies a single board, so it is not a capability.
_BOARD = ("uuid",)


@dataclass(frozen=True)
class CapabilityChange:
    """One difference between two devices, or between two drivers of one device."""

    #: ``"feature"``, ``"extension"``, ``"limit"``, ``"property"`` (other declarations) or
    #: ``"experiment"`` (the probe's observation).
    group: str
    name: str  # Vulkan's name if there is one, else the dotted name in `vkgroup.device.Capabilities`
    #: `old`, `new`: the values; None if missing. For a feature or another member of a set, True if present.
    old: Any
    new: Any


def capability_changes(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    old_experiments: Mapping[str, Any] | None = None,
    new_experiments: Mapping[str, Any] | None = None,
) -> tuple[CapabilityChange, ...]:
    """Compare the capabilities of two devices."""
    before, after = dict(_facts(old)), dict(_facts(new))
    if old_experiments is not None and new_experiments is not None:
        before |= dict(_sentences(old_experiments))
        after |= dict(_sentences(new_experiments))
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    changed.sort(key=lambda key: (_ORDER.index(key[0]), key[1]))
    return tuple(CapabilityChange(*key, before.get(key), after.get(key)) for key in changed)


def _facts(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield each fact by its group and name."""
    for name, value in data.items():
        if name in _BOARD:
            continue
        group = _GROUPS.get(name)
        yield from _flat(group or "property", "" if group else name, value)


def _flat(group: str, name: str, value: Any) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield the facts in a value: entries of tables by name, members of sets (lists of words or tables)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(group, f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list) and value and all(isinstance(one, str | dict) for one in value):
        for one in value:
            member = one if isinstance(one, str) else json.dumps(one, sort_keys=True)
            yield (group, f"{name}.{member}" if name else member), True
    elif value != []:
        yield (group, name), value


def _sentences(experiments: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    for name, seen in experiments.items():
        if isinstance(seen, dict):
            words = [str(seen[key]) for key in _SENTENCES if key in seen]
            yield ("experiment", name), ": ".join(words)


_RAN = (Status.PASS, Status.UNDEFINED, Status.COMPILED)
"""Statuses of cases that ran without a verdict against the device."""

LISTS = ("newly_failing", "appeared_failing", "fixed", "appeared", "vanished", "other")
"""The kinds of change of a case (see `CaseDifferences`), the most important first."""


@dataclass(frozen=True)
class CaseChange:
    """A case whose status differs between two runs, or that only one of them has."""

    case: str  # its name
    #: `old`, `new`: its statuses; None if the run does not have the case.
    old: Status | None
    new: Status | None
    #: The detail of the new run; for fixed cases that of the old run; empty for cases that vanished, and for
    #: cases that appeared and do not fail.
    detail: str = ""


@dataclass(frozen=True)
class CaseDifferences:
    """The changes of the cases; each list in the order of names."""

    same: int  # cases with the same status in both
    #: Cases with a verdict against the device (Fail, Crash, Timeout) that had none before.
    newly_failing: tuple[CaseChange, ...]
    #: Cases that only the new run has, with such a verdict. They are not regressions: the suite may be newer,
    #: or the old run may not have reached them.
    appeared_failing: tuple[CaseChange, ...]
    fixed: tuple[CaseChange, ...]  # cases that had such a verdict and now ran without one
    #: `appeared`, `vanished`: all other cases that only the new run has, and cases that only the old run has.
    appeared: tuple[CaseChange, ...]
    vanished: tuple[CaseChange, ...]
    other: tuple[CaseChange, ...]  # all other changes: Pass to NotSupported, Fail to Crash, …


@dataclass(frozen=True)
class CauseChange:
    """A cause of failures in one or both runs."""

    id: str  # depends on the behaviour of the device alone
    title: str  # the error in one line
    sentence: str  # the failed cases, by the axes that matter
    known: bool  # whether the error is a known one of the driver
    #: `old`, `new`: the numbers of failed cases in the two runs; 0 if the run does not have the cause.
    old: int
    new: int
    smallest: str  # the simplest failed case


@dataclass(frozen=True)
class CauseDifferences:
    """The causes of failures in two runs."""

    appeared: tuple[CauseChange, ...]  # causes that only the new run has
    disappeared: tuple[CauseChange, ...]  # causes that only the old run has
    remaining: tuple[CauseChange, ...]  # causes of both
    not_tested: tuple[CauseChange, ...]  # causes of the old run of whose cases the new run executed none


@dataclass(frozen=True)
class Differences:
    """Two runs compared by all data that both have."""

    #: `old`, `new`: the summaries of the runs.
    old: RunInfo
    new: RunInfo
    cases: CaseDifferences | None  # None if one of the runs has no results
    capabilities: tuple[CapabilityChange, ...] | None  # None if one of the runs has no capabilities
    speed: Comparison | None  # rows of benchmarks, by their intervals; None if one of the runs has no times
    causes: CauseDifferences | None = None  # None if one of the runs has no causes and no results
    statistics: StatisticDifferences | None = None  # None if one of the runs has no statistics of cases

    @property
    def newly_fails(self) -> bool:
        """Whether a case or the results of a benchmark fail in the new run but not in the old one."""
        return bool(self.cases and self.cases.newly_failing) or bool(self.speed and self.speed.newly_wrong)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON data."""
        return {
            "old": self.old.to_json(),
            "new": self.new.to_json(),
            "newly_fails": self.newly_fails,
            "causes": msgspec.to_builtins(self.causes),
            "cases": msgspec.to_builtins(self.cases),
            "capabilities": msgspec.to_builtins(self.capabilities),
            "speed": self.speed and speed_json(self.speed),
            "statistics": msgspec.to_builtins(self.statistics),
        }


def speed_json(speed: Comparison) -> dict[str, Any]:
    """Return a comparison of times as plain JSON data: rows that are slower, faster and newly wrong."""
    changed = [(one, one.verdict(speed.threshold)) for one in speed.changes]
    return {
        "threshold": speed.threshold,
        "same": sum(verdict == "same" for _, verdict in changed),
        "context": {name: list(both) for name, both in speed.context.items()},
        "newly_wrong": {name: speed.wrong[name] for name in speed.newly_wrong},
        "appeared": list(speed.added),
        "vanished": list(speed.missing),
        **{
            kind: [
                {"row": one.name, "unit": one.unit, "ratio": _finite(one.ratio)}
                | {
                    name: {"median": time.median, "low": time.low, "high": time.high}
                    for name, time in (("old", one.old), ("new", one.new))
                }
                for one, verdict in changed
                if verdict == kind
            ]
            for kind in ("slower", "faster")
        },
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def differences(old: RunRecord, new: RunRecord, *, threshold: float = BENCH_THRESHOLD) -> Differences:
    """Compare two runs from databases or files."""
    cases = None
    if old.results is not None and new.results is not None:
        cases = case_differences(old.results, new.results)
    causes = cause_differences(old, new) if all(map(_has_causes, (old, new))) else None
    capabilities = None
    if old.declared is not None and new.declared is not None:
        capabilities = capability_changes(old.declared, new.declared, old.experiments, new.experiments)
    speed = None
    if old.bench is not None and new.bench is not None:
        speed = speed_differences(old, new, threshold=threshold)
    if cases is None and capabilities is None and speed is None:
        raise InvalidInput(
            f"{old.info.id} has {_what(old)}, {new.info.id} has {_what(new)}: they have no data in common; "
            "give two runs of the same command"
        )
    statistics = None
    if old.results is not None and new.results is not None and _have_statistics(old, new):
        statistics = statistic_differences(old.results, new.results)
    return Differences(old.info, new.info, cases, capabilities, speed, causes, statistics)


def _have_statistics(*runs: RunRecord) -> bool:
    return all(run.summary.get("statistics") for run in runs)


def _has_causes(run: RunRecord) -> bool:
    return run.results is not None or "causes" in run.summary


def cause_differences(old: RunRecord, new: RunRecord) -> CauseDifferences:
    """Compare the causes of failures of two runs by their ids, which depend on the behaviour alone."""
    before, after = ({cause["id"]: cause for cause in causes_of(run)} for run in (old, new))
    changes = [_cause_change(id_, before.get(id_), after.get(id_)) for id_ in {**after, **before}]
    executed = None if new.results is None else _executed(new.results)
    gone = [change for change in changes if not change.new]
    tested = [change for change in gone if executed is None or executed & set(before[change.id]["cases"])]
    return CauseDifferences(
        appeared=tuple(change for change in changes if not change.old),
        disappeared=tuple(tested),
        remaining=tuple(change for change in changes if change.old and change.new),
        not_tested=tuple(change for change in gone if change not in tested),
    )


def _executed(results: Results) -> set[str]:
    """Return the names of the cases that were executed."""
    return {case for case, status in results.statuses().items() if status not in UNEXECUTED}


def _cause_change(id_: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> CauseChange:
    told = new or old or {}
    return CauseChange(
        id=id_,
        title=str(told.get("title", "")),
        sentence=str(told.get("sentence", "")),
        known=bool(told.get("known")),
        old=int(old["count"]) if old else 0,
        new=int(new["count"]) if new else 0,
        smallest=str(told.get("smallest", "")),
    )


def speed_differences(old: RunRecord, new: RunRecord, *, threshold: float = BENCH_THRESHOLD) -> Comparison:
    """Compare the times of two runs with benchmarks.

    `threshold`: part by which a time must have changed, beyond the intervals of both, to count as faster or
    slower.
    """
    return between(old.bench or {}, new.bench or {}, threshold, names=(old.info.id, new.info.id))


def case_differences(old: Results, new: Results) -> CaseDifferences:
    """Compare two runs by case."""
    before, after = old.statuses(), new.statuses()
    names = became(before, after)
    now = new.of([*names["newly_failing"], *names["appeared_failing"], *names["other"]])
    once = old.of(names["fixed"])

    def change(case: str) -> CaseChange:
        said = now.get(case) or once.get(case)
        return CaseChange(case, before.get(case), after.get(case), said.detail if said else "")

    changes = {name: tuple(map(change, cases)) for name, cases in names.items()}
    common = sum(case in before for case in after)
    changed = sum(len(names[name]) for name in ("newly_failing", "fixed", "other"))
    return CaseDifferences(**changes, same=common - changed)


def became(before: Mapping[str, Status], after: Mapping[str, Status]) -> dict[str, list[str]]:
    """Group the cases of two runs by their change.

    Returns the names of cases for each list of `CaseDifferences`, in order; unchanged cases are in no list.
    """
    changes: dict[str, list[str]] = {name: [] for name in LISTS}
    for case, status in after.items():
        was = before.get(case)
        if was != status:
            changes[_became(was, status)].append(case)
    changes["vanished"] = [case for case in before if case not in after]
    for cases in changes.values():
        cases.sort()
    return changes


def _became(old: Status | None, new: Status) -> str:
    """Return the name of the list for a case of the new run whose status has changed."""
    if old is None:
        return "appeared_failing" if new in AGAINST_THE_DEVICE else "appeared"
    if new in AGAINST_THE_DEVICE and old not in AGAINST_THE_DEVICE:
        return "newly_failing"
    if old in AGAINST_THE_DEVICE and new in _RAN:
        return "fixed"
    return "other"


def _what(run: RunRecord) -> str:
    return " and ".join(_parts(run)) or "no more than a summary"


def _parts(run: RunRecord) -> Iterator[str]:
    if run.results is not None:
        yield "results of cases"
    if run.declared is not None:
        yield "capabilities"
    if run.bench is not None:
        yield "benchmarks"
