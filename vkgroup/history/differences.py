"""Two runs compared: by case, by capability and by speed, wherever they are stored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status
from vkgroup.errors import InvalidInput
from vkgroup.history.capability import CapabilityChange, capability_changes
from vkgroup.history.model import Recorded, Results, RunInfo

if TYPE_CHECKING:
    from vkgroup.bench.compare import Comparison

_RAN = (Status.PASS, Status.UNDEFINED)
"""Statuses of cases that ran and say nothing against the device."""


@dataclass(frozen=True)
class CaseChange:
    """A case whose status is another, or that one of the runs does not have.

    Attributes
    ----------
    case : its name.
    old, new : its statuses; None where the run does not have it.
    detail : what the new run says of it; of fixed cases what the old run said; empty for cases that one of
        the runs does not have.
    """

    case: str
    old: Status | None
    new: Status | None
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the change as plain JSON data."""
        return {
            "case": self.case,
            "old": self.old and self.old.value,
            "new": self.new and self.new.value,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class CaseDifferences:
    """What became of the cases; each list in the order of names.

    Attributes
    ----------
    newly_failing : verdicts against the device (Fail, Crash, Timeout) of cases that had none before.
    fixed : cases that had one, and ran now without.
    appeared, vanished : cases that only the new or only the old run has, whatever their status.
    other : all else: Pass to NotSupported, Fail to Crash, ….
    same : cases with the same status in both.
    """

    newly_failing: tuple[CaseChange, ...]
    fixed: tuple[CaseChange, ...]
    appeared: tuple[CaseChange, ...]
    vanished: tuple[CaseChange, ...]
    other: tuple[CaseChange, ...]
    same: int


@dataclass(frozen=True)
class Differences:
    """Two runs compared, as far as both have what can be.

    Attributes
    ----------
    old, new : the runs, each in a line.
    cases : None where one of the runs has no results.
    capabilities : None where one of the runs does not say what its device declares.
    speed : rows of benchmarks, by their intervals; None where one of the runs timed nothing.
    """

    old: RunInfo
    new: RunInfo
    cases: CaseDifferences | None
    capabilities: tuple[CapabilityChange, ...] | None
    speed: Comparison | None

    @property
    def newly_fails(self) -> bool:
        """Whether anything fails that did not: a case, or the results of a benchmark."""
        return bool(self.cases and self.cases.newly_failing) or bool(self.speed and self.speed.newly_wrong)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON data."""
        return {
            "old": self.old.to_json(),
            "new": self.new.to_json(),
            "newly_fails": self.newly_fails,
            "cases": self.cases and _cases_json(self.cases),
            "capabilities": None
            if self.capabilities is None
            else [change.to_json() for change in self.capabilities],
            "speed": self.speed and _speed_json(self.speed),
        }


def _cases_json(cases: CaseDifferences) -> dict[str, Any]:
    lists = ("newly_failing", "fixed", "appeared", "vanished", "other")
    return {"same": cases.same} | {
        name: [change.to_json() for change in getattr(cases, name)] for name in lists
    }


def _speed_json(speed: Comparison) -> dict[str, Any]:
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


def differences(old: Recorded, new: Recorded, *, threshold: float = 0.0) -> Differences:
    """Compare two runs, whether they come from databases or from files.

    Parameters
    ----------
    old, new : of `Database.run` or `load`; their database must still be open.
    threshold : part by which a time must have changed, beyond the intervals of both, to count as faster or
        slower.

    Raises
    ------
    InvalidInput
        The runs have nothing that could be compared: a probe and a benchmark run, say.
    """
    cases = None
    if old.results is not None and new.results is not None:
        cases = case_differences(old.results, new.results)
    capabilities = None
    if old.capabilities is not None and new.capabilities is not None:
        capabilities = capability_changes(
            old.capabilities, new.capabilities, old.experiments, new.experiments
        )
    speed = None
    if old.bench is not None and new.bench is not None:
        # NumPy and all of bench: not for those who compare cases.
        from vkgroup.bench.compare import between

        speed = between(old.bench, new.bench, threshold, names=(old.info.id, new.info.id))
    if cases is None and capabilities is None and speed is None:
        raise InvalidInput(
            f"{old.info.id} has {_what(old)}, {new.info.id} has {_what(new)}: there is nothing to compare; "
            "give two runs that have the same"
        )
    return Differences(old.info, new.info, cases, capabilities, speed)


def case_differences(old: Results, new: Results) -> CaseDifferences:
    """Compare two runs by case."""
    before, after = old.statuses(), new.statuses()
    changed = [case for case, status in after.items() if case in before and before[case] != status]
    failing = [case for case in changed if _newly_fails(before[case], after[case])]
    fixed = [case for case in changed if before[case] in AGAINST_THE_DEVICE and after[case] in _RAN]
    told = {*failing, *fixed}
    other = [case for case in changed if case not in told]
    common = sum(case in before for case in after)

    def changes(cases: list[str], details: dict[str, Result] | None = None) -> tuple[CaseChange, ...]:
        found = details or {}
        return tuple(
            CaseChange(case, before.get(case), after.get(case), found[case].detail if case in found else "")
            for case in sorted(cases)
        )

    return CaseDifferences(
        newly_failing=changes(failing, new.of(failing)),
        fixed=changes(fixed, old.of(fixed)),
        appeared=changes([case for case in after if case not in before]),
        vanished=changes([case for case in before if case not in after]),
        other=changes(other, new.of(other)),
        same=common - len(changed),
    )


def _newly_fails(old: Status, new: Status) -> bool:
    return new in AGAINST_THE_DEVICE and old not in AGAINST_THE_DEVICE


def _what(run: Recorded) -> str:
    return " and ".join(_parts(run)) or "no more than a summary"


def _parts(run: Recorded) -> Iterator[str]:
    if run.results is not None:
        yield "results of cases"
    if run.capabilities is not None:
        yield "capabilities"
    if run.bench is not None:
        yield "benchmarks"
