"""Benchmarks as data for the page: one record per contender and size, from Google Benchmark's JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from vkgroup.results.history import RunRecord

PAIR = ("subgroup", "shared")


@dataclass(frozen=True)
class Interval:
    """A median with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Timed:
    """One contender of one benchmark at one size.

    Attributes
    ----------
    name, size, tuning, version : the parts of the row's name; size is 0 where the name has none.
    time : nanoseconds, or whatever `unit` says.
    rate : bytes, or else operations or items, a second; 0 where none are counted.
    counts : what the rate counts.
    ratio : time of this contender divided by that of the subgroup version, of paired rounds.
    share : part of the ceiling; `ceiling` is its name.
    """

    name: str
    size: int
    tuning: str
    version: str
    time: Interval
    unit: str
    rate: float
    counts: str
    ratio: Interval | None
    share: Interval | None
    ceiling: str

    @property
    def row(self) -> str:
        """The name of the row, which contenders that were compared share."""
        size = f" · {power(self.size)}" if self.size else ""
        return self.name + size + (f" · {self.tuning}" if self.tuning else "")


def power(size: int) -> str:
    """Return a size for people: ``2²⁰`` where it is a power of two from 2¹⁰ on, else its digits."""
    if size < 1024 or size & (size - 1):
        return f"{size:,}"
    return "2" + str(size.bit_length() - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def timed_of(bench: RunRecord) -> list[Timed]:
    """Return every contender with a median and an interval; invalid entries are left out."""
    found = []
    for entry in _entries(bench):
        if isinstance(entry, dict) and entry.get("aggregate_name") == "median" and "time_low" in entry:
            try:
                found.append(_timed(entry))
            except (KeyError, TypeError, ValueError, OverflowError):
                continue
    return found


def failed_of(bench: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield the name of each row without a time, and the reason."""
    for entry in _entries(bench):
        if isinstance(entry, dict) and (entry.get("error_occurred") or entry.get("skipped")):
            why = entry.get("error_message") or entry.get("skip_message") or "no reason recorded"
            yield str(entry.get("run_name", entry.get("name", ""))), str(why)


def _entries(bench: RunRecord) -> list[Any]:
    found: list[Any] = (bench.bench or {}).get("benchmarks", [])
    return found


def to_json(bench: RunRecord) -> dict[str, Any]:
    """Return a benchmark as data for the page's table."""
    context = (bench.bench or {}).get("context")
    context = context if isinstance(context, dict) else {}
    return {
        "place": bench.info.id,
        "device": str(context.get("device", "unknown device")),
        "driver": f"{context.get('driver_name', '')} {context.get('driver_info', '')}".strip(),
        "date": str(context.get("date", "")),
        "clock": str(context.get("clock", "")),
        "rows": [{**asdict(timed), "row": timed.row} for timed in timed_of(bench)],
        "failed": [list(pair) for pair in failed_of(bench)],
    }


def _timed(entry: dict[str, Any]) -> Timed:
    name, *rest = str(entry["run_name"]).split("/")
    size = int(rest.pop(0)) if rest and rest[0].isdecimal() else 0
    version = rest.pop() if rest and ":" not in rest[-1] else "time"
    counts = next((what for what in ("bytes", "operations", "items") if f"{what}_per_second" in entry), "")
    return Timed(
        name,
        size,
        " ".join(rest).replace(":", " "),
        version,
        Interval(_number(entry["real_time"]), _number(entry["time_low"]), _number(entry["time_high"])),
        "ns" if entry.get("unit", "s") == "s" else str(entry["unit"]),
        _number(entry[f"{counts}_per_second"]) if counts else 0.0,
        counts,
        _interval(entry, f"ratio_to_{PAIR[0]}"),
        _interval(entry, "ceiling_share"),
        str(entry.get("ceiling", "")),
    )


def _interval(entry: dict[str, Any], name: str) -> Interval | None:
    if name not in entry:
        return None
    return Interval(*(_number(entry[name + end]) for end in ("", "_low", "_high")))


def _number(value: Any) -> float:
    """Return a finite number; ValueError if the value is something else."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is not finite")
    return number
