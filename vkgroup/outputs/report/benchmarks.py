"""Benchmarks as data for the page: one record per contender and size, from Google Benchmark's JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from vkgroup.outputs.history import RunRecord

PAIR = ("subgroup", "shared")


@dataclass(frozen=True)
class MedianInterval:
    """A median with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ContenderTimes:
    """One contender of one benchmark at one size."""

    #: `name`, `size`, `tuning`, `version`: the parts of the row's name; size is 0 where the name has none.
    name: str
    size: int
    tuning: str
    version: str
    time: MedianInterval  # time in `unit`, by default nanoseconds
    unit: str
    rate: float  # bytes, operations or items per second; 0 if none are counted
    counts: str  # unit of the rate
    ratio: (
        MedianInterval | None
    )  # time of this contender divided by that of the subgroup version, of paired rounds
    share: MedianInterval | None  # part of the ceiling; `ceiling` is its name
    ceiling: str

    @property
    def row(self) -> str:
        """The name of the row, which is the same for all contenders that were compared."""
        size = f" · {power(self.size)}" if self.size else ""
        return self.name + size + (f" · {self.tuning}" if self.tuning else "")


def power(size: int) -> str:
    """Return a size as text: ``2²⁰`` for powers of two from 2¹⁰ on, otherwise the digits."""
    if size < 1024 or size & (size - 1):
        return f"{size:,}"
    return "2" + str(size.bit_length() - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


class _Entry(msgspec.Struct):
    """A median in Google Benchmark's JSON, with the fields that vkgroup adds."""

    run_name: str
    real_time: float
    time_low: float
    time_high: float
    aggregate_name: Literal["median"]
    unit: str = "s"
    ceiling: str = ""
    bytes_per_second: float | UnsetType = UNSET
    operations_per_second: float | UnsetType = UNSET
    items_per_second: float | UnsetType = UNSET
    ratio_to_subgroup: float | UnsetType = UNSET
    ratio_to_subgroup_low: float = math.nan
    ratio_to_subgroup_high: float = math.nan
    ceiling_share: float | UnsetType = UNSET
    ceiling_share_low: float = math.nan
    ceiling_share_high: float = math.nan

    def timed(self) -> ContenderTimes:
        """Return the contender; ValueError if an interval is incomplete or not finite."""
        name, *rest = self.run_name.split("/")
        size = int(rest.pop(0)) if rest and rest[0].isdecimal() else 0
        version = rest.pop() if rest and ":" not in rest[-1] else "time"
        rates = {
            "bytes": self.bytes_per_second,
            "operations": self.operations_per_second,
            "items": self.items_per_second,
        }
        counts, rate = next(((word, rate) for word, rate in rates.items() if rate is not UNSET), ("", 0.0))
        time = _interval(self.real_time, self.time_low, self.time_high)
        assert time is not None
        return ContenderTimes(
            name,
            size,
            " ".join(rest).replace(":", " "),
            version,
            time,
            "ns" if self.unit == "s" else self.unit,
            rate or 0.0,
            counts,
            _interval(self.ratio_to_subgroup, self.ratio_to_subgroup_low, self.ratio_to_subgroup_high),
            _interval(self.ceiling_share, self.ceiling_share_low, self.ceiling_share_high),
            self.ceiling,
        )


def _interval(value: float | UnsetType, low: float, high: float) -> MedianInterval | None:
    """Return an interval, None if the entry has none; ValueError if it is incomplete or not finite."""
    if value is UNSET:
        return None
    if not all(map(math.isfinite, (value, low, high))):
        raise ValueError("an interval is incomplete or not finite")
    return MedianInterval(value, low, high)


def timed_of(bench: RunRecord) -> list[ContenderTimes]:
    """Return every contender with a median and an interval; invalid entries are left out."""
    contenders = []
    for entry in _entries(bench):
        with suppress(ValueError):
            contenders.append(msgspec.convert(entry, _Entry).timed())
    return contenders


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
