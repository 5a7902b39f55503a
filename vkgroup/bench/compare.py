"""Comparison of two recorded runs: rows that became slower or faster, with intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.base import choices
from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import read_text
from vkgroup.bench.row import Estimate, median_interval

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_CONTEXT = ("device", "driver_name", "driver_info", "driver_version", "vkgroup_version", "host_name", "clock")


@dataclass(frozen=True)
class RowChange:
    """One row in both runs, with times in `unit` (``"s"``, ``"cycles"``, …)."""

    name: str
    old: Estimate
    new: Estimate
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """New time divided by the old time; above 1 is slower."""
        return self.new.median / self.old.median if self.old.median else math.inf

    @property
    def overlap(self) -> bool:
        """Whether the two intervals overlap."""
        return self.old.overlaps(self.new)

    def verdict(self, threshold: float) -> str:
        """Return ``"slower"`` or ``"faster"`` if the intervals do not overlap, otherwise ``"same"``."""
        if self.overlap or abs(self.ratio - 1) <= threshold:
            return "same"
        return "slower" if self.ratio > 1 else "faster"


@dataclass(frozen=True)
class Comparison:
    """Comparison of two runs."""

    changes: tuple[RowChange, ...]  # rows in both runs, in the order of the old run
    #: `missing`, `added`: rows only in the old run, and only in the new run.
    missing: tuple[str, ...]
    added: tuple[str, ...]
    wrong: Mapping[str, str]  # rows of the new run with wrong results, with the errors
    context: Mapping[str, tuple[str, str]]  # different fields of the contexts: name to (old, new)
    threshold: float  # minimum relative change of the median of a row that counts as slower or faster
    newly_wrong: tuple[str, ...] = ()  # rows of `wrong` whose results were not wrong in the old run

    @property
    def worse(self) -> bool:
        """Whether any row became slower or wrong."""
        return bool(self.wrong) or any(change.verdict(self.threshold) == "slower" for change in self.changes)


def compare(old: Path, new: Path, threshold: float = choices.BENCH_THRESHOLD) -> Comparison:
    """Compare two files of `vkgroup bench --json` or another program, in Google Benchmark's format.

    Raises InvalidInput: a file cannot be read or does not have this format.
    """
    return between(_load(old), _load(new), threshold, names=(str(old), str(new)))


class _Entry(msgspec.Struct):
    """A benchmark of Google Benchmark's format; numbers are checked only if they are used."""

    name: str = ""
    run_name: str | msgspec.UnsetType = msgspec.UNSET
    run_type: str = "iteration"
    unit: str | msgspec.UnsetType = msgspec.UNSET
    time_unit: str | msgspec.UnsetType = msgspec.UNSET
    aggregate_name: Any = None
    error_occurred: Any = False
    error_message: Any = ""
    skipped: Any = False
    real_time: Any = msgspec.UNSET
    time_low: Any = msgspec.UNSET
    time_high: Any = msgspec.UNSET
    confidence: Any = msgspec.UNSET
    iterations: Any = msgspec.UNSET

    @property
    def row(self) -> str:
        """Name of the row that the entry belongs to."""
        return self.name if self.run_name is msgspec.UNSET else self.run_name

    def number(self, field: str) -> float:
        """Return a number; raise `ValueError` if it is missing or not a possible measurement."""
        value = getattr(self, field)
        if value is msgspec.UNSET:
            raise ValueError(f"a benchmark lacks {field!r}")
        try:
            number = math.nan if isinstance(value, bool) else float(value + 0)
        except (TypeError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"a benchmark has {repr(value)[:40]} instead of a finite number")
        return number


class _Run(msgspec.Struct):
    """A run in Google Benchmark's format."""

    benchmarks: list[_Entry]
    context: dict[str, Any] | None = None

    @property
    def wrong(self) -> dict[str, str]:
        """The rows with wrong results, with the errors."""
        return {
            entry.run_name: str(entry.error_message)
            for entry in self.benchmarks
            if entry.error_occurred and entry.run_name is not msgspec.UNSET
        }

    def times(self, units: Mapping[str, str]) -> dict[str, Estimate]:
        """Return each row's time: vkgroup's interval if the file has it, or that of the repetitions."""
        repetitions: dict[str, list[float]] = {}
        intervals: dict[str, Estimate] = {}
        for entry in self.benchmarks:
            if entry.error_occurred or entry.skipped or entry.time_unit is msgspec.UNSET:
                continue
            if units.get(entry.row, "s") != "s":
                unit = 1.0
            elif entry.time_unit in _UNITS:
                unit = _UNITS[entry.time_unit]
            else:
                raise ValueError(f"a benchmark has the unknown unit {entry.time_unit!r}")
            if entry.run_type == "iteration":
                repetitions.setdefault(entry.row, []).append(entry.number("real_time") * unit)
            elif entry.aggregate_name == "median" and entry.time_low is not msgspec.UNSET:
                median, low, high = (
                    entry.number(field) * unit for field in ("real_time", "time_low", "time_high")
                )
                confidence, count = entry.number("confidence"), int(entry.number("iterations"))
                intervals[entry.row] = Estimate(median, low, high, confidence, count)
        return {
            name: intervals.get(name) or median_interval(repetitions[name])
            for name in dict.fromkeys([*repetitions, *intervals])
        }


def between(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    threshold: float = choices.BENCH_THRESHOLD,
    *,
    names: tuple[str, str] = ("the old run", "the new run"),
) -> Comparison:
    """Compare two results of `vkgroup.bench.google.to_json`; `names` are those of the runs in errors."""
    runs = [_checked(data, name) for data, name in zip((before, after), names, strict=True)]
    # Rows without a unit are in seconds.
    units = {entry.row: entry.unit for entry in runs[0].benchmarks if entry.unit is not msgspec.UNSET}
    times: list[dict[str, Estimate]] = []
    for run, name in zip(runs, names, strict=True):
        try:
            times.append(run.times(units))
        except ValueError as error:
            raise InvalidInput(f"{name}: {error}; pass a file written by `vkgroup bench --json`.") from error
    old, new = times
    contexts = [run.context or {} for run in runs]
    differing = {
        key: (str(contexts[0].get(key, "–")), str(contexts[1].get(key, "–")))
        for key in _CONTEXT
        if contexts[0].get(key) != contexts[1].get(key)
    }
    wrong = runs[1].wrong
    return Comparison(
        tuple(RowChange(name, old[name], new[name], units.get(name, "s")) for name in old if name in new),
        tuple(name for name in old if name not in new),
        tuple(name for name in new if name not in old),
        wrong,
        differing,
        threshold,
        tuple(name for name in wrong if name not in runs[0].wrong),
    )


def _load(path: Path) -> Any:
    # Google Benchmark writes NaN and Infinity, which msgspec's decoder does not accept.
    try:
        return json.loads(read_text(path, "utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid JSON: {error}") from error


def _checked(data: Any, name: str) -> _Run:
    """Return a run; raise `InvalidInput` unless the data is a list of benchmarks with their context."""
    try:
        return msgspec.convert(data, _Run)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"{name} is not a benchmark result: {error}; pass a file written by `vkgroup bench --json`."
        ) from error
