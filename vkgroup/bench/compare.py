"""Comparison of two recorded runs: rows that became slower or faster, with intervals."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vkgroup import choices
from vkgroup.bench.statistics import Estimate, median_interval
from vkgroup.errors import InvalidInput

THRESHOLD = choices.BENCH_THRESHOLD
"""Minimum change of a row that counts as slower or faster, if the intervals do not overlap."""

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_CONTEXT = ("device", "driver_name", "driver_info", "driver_version", "vkgroup_version", "host_name", "clock")


@dataclass(frozen=True)
class Change:
    """One row in both runs.

    Attributes
    ----------
    name : name of the row.
    old, new : times in the unit `unit`.
    unit : ``"s"``, ``"cycles"``, ….
    """

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
    """Comparison of two runs.

    Attributes
    ----------
    changes : rows in both runs, in the order of the old run.
    missing, added : rows only in the old run, and only in the new run.
    wrong : rows of the new run with wrong results, with the errors.
    context : different fields of the contexts: name to (old, new).
    threshold : as `THRESHOLD`.
    newly_wrong : rows of `wrong` whose results were not wrong in the old run.
    """

    changes: tuple[Change, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]
    wrong: Mapping[str, str]
    context: Mapping[str, tuple[str, str]]
    threshold: float
    newly_wrong: tuple[str, ...] = ()

    @property
    def worse(self) -> bool:
        """Whether any row became slower or wrong."""
        return bool(self.wrong) or any(one.verdict(self.threshold) == "slower" for one in self.changes)


def compare(old: Path, new: Path, threshold: float = THRESHOLD) -> Comparison:
    """Compare two files written by `vkgroup bench --json` or another program, in Google Benchmark's format.

    Parameters
    ----------
    old, new : the files.
    threshold : minimum relative change of the median of a row that counts as slower or faster.

    Raises
    ------
    InvalidInput
        A file cannot be read or does not have this format.
    """
    return between(_load(old), _load(new), threshold, names=(str(old), str(new)))


def between(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    threshold: float = THRESHOLD,
    *,
    names: tuple[str, str] = ("the old run", "the new run"),
) -> Comparison:
    """Compare two runs in Google Benchmark's format.

    Parameters
    ----------
    before, after : results of `vkgroup.bench.google.to_json`.
    threshold : as in `compare`.
    names : names of the two runs, for error messages.

    Raises
    ------
    InvalidInput
        One of them does not have this format.
    """
    _check(before, names[0])
    _check(after, names[1])
    units = _units(before)
    times, others = _times(before, units, names[0]), _times(after, units, names[1])
    contexts = before.get("context") or {}, after.get("context") or {}
    differing = {
        key: (str(contexts[0].get(key, "–")), str(contexts[1].get(key, "–")))
        for key in _CONTEXT
        if contexts[0].get(key) != contexts[1].get(key)
    }
    wrong = _wrong(after)
    return Comparison(
        tuple(Change(name, times[name], others[name], units[name]) for name in times if name in others),
        tuple(name for name in times if name not in others),
        tuple(name for name in others if name not in times),
        wrong,
        differing,
        threshold,
        tuple(name for name in wrong if name not in _wrong(before)),
    )


def _wrong(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the rows with wrong results, with the errors."""
    return {
        entry["run_name"]: str(entry.get("error_message", ""))
        for entry in data["benchmarks"]
        if entry.get("error_occurred") and "run_name" in entry
    }


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid JSON: {error}") from error


def _check(data: Any, path: str) -> None:
    """Raise `InvalidInput` unless the data is a list of benchmarks with their context."""
    entries = data.get("benchmarks") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput(
            f"{path} has no list of benchmarks; pass a file written by `vkgroup bench --json`."
        )
    if not isinstance(data.get("context") or {}, dict):
        raise InvalidInput(f"{path}: the context is not a JSON object.")
    for entry in entries:
        for field in ("name", "run_name", "unit", "time_unit", "run_type"):
            if not isinstance(entry.get(field, ""), str):
                raise InvalidInput(
                    f"{path}: {field} of a benchmark must be a string; it is {entry[field]!r}."
                )


def _units(data: Mapping[str, Any]) -> defaultdict[str, str]:
    """Return the units of rows that have one; rows without a unit are in seconds."""
    units = defaultdict(lambda: "s")
    for entry in data["benchmarks"]:
        if isinstance(entry.get("unit"), str):
            units[_name(entry)] = entry["unit"]
    return units


def _name(entry: Mapping[str, Any]) -> str:
    """Return the name of a row that an entry belongs to."""
    return str(entry.get("run_name", entry.get("name", "")))


def _number(value: Any) -> float:
    """Return a number of a file; raise `ValueError` if it is not a possible measurement."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        number = math.inf
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError(f"a benchmark has {repr(value)[:40]} instead of a finite number")
    return number


def _times(data: Mapping[str, Any], units: Mapping[str, str], path: str) -> dict[str, Estimate]:
    """Return each row's time: vkgroup's interval if the file has it, or that of the repetitions."""
    repetitions: dict[str, list[float]] = {}
    found: dict[str, Estimate] = {}
    try:
        for entry in data["benchmarks"]:
            name = _name(entry)
            if entry.get("error_occurred") or entry.get("skipped") or "time_unit" not in entry:
                continue
            unit = _UNITS[entry["time_unit"]] if units[name] == "s" else 1.0
            if entry.get("run_type", "iteration") == "iteration":
                repetitions.setdefault(name, []).append(_number(entry["real_time"]) * unit)
            elif entry.get("aggregate_name") == "median" and "time_low" in entry:
                middle, low, high = (
                    _number(entry[key]) * unit for key in ("real_time", "time_low", "time_high")
                )
                counted = _number(entry["confidence"]), int(_number(entry["iterations"]))
                found[name] = Estimate(middle, low, high, *counted)
    except KeyError as error:
        raise InvalidInput(f"{path}: a benchmark lacks {error}, or has a unit of that name.") from error
    except ValueError as error:
        raise InvalidInput(f"{path}: {error}") from error
    return {name: found.get(name) or median_interval(times) for name, times in _both(repetitions, found)}


def _both(
    repetitions: Mapping[str, list[float]], found: Mapping[str, Estimate]
) -> Iterable[tuple[str, list[float]]]:
    """Yield each name once, with its repetitions."""
    for name in dict.fromkeys([*repetitions, *found]):
        yield name, repetitions.get(name, [])
