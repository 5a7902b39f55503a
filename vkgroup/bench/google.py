"""Results in Google Benchmark's JSON format, for its tools and other tools that read the format.

The format is that of Google Benchmark's docs/user_guide.md, "Output Formats", and src/json_reporter.cc: a
context and a list of benchmarks. Entries with `run_type` ``"iteration"`` are single repetitions; entries with
``"aggregate"`` are statistics over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from vkgroup.bench.row import BenchmarkRow, CandidateTimes, Estimate, Share, median_interval
from vkgroup.bench.run import BenchmarkResult

REPETITIONS = 10
"""Number of repetitions of a row, which divide its rounds; the U test of compare.py needs at least 9."""

_NANOSECONDS = 1e9


def to_json(result: BenchmarkResult, context: Mapping[str, object]) -> dict[str, Any]:
    """Return the data of a run, with a context of `vkgroup.bench.machine.context`, for `json.dump`."""
    peers = {f"peer_{name}_version": text for name, text in result.peers.items()}
    entries = [*_rows(result), *_ceilings(result)]
    return {"context": {**context, **peers}, "benchmarks": entries}


def _rows(result: BenchmarkResult) -> Iterator[dict[str, Any]]:
    families = {name: index for index, name in enumerate(dict.fromkeys(row.name for row in result.rows))}
    for instance, row in enumerate(result.rows):
        indices = {"family_index": families[row.name], "per_family_instance_index": instance}
        for entry in row.timed.values():
            yield from _entries(f"{row.label}/{entry.name}", entry, row, indices)
        for name, message in row.wrong.items():
            yield _without_time(f"{row.label}/{name}", "error", indices, message)
        if not row.timed and not row.wrong:
            # The row was only verified, or nothing could run.
            text = f"right: {', '.join(row.right)}" if row.right else "; ".join(row.notes)
            yield _without_time(row.label, "skipped", indices, text)


def _ceilings(result: BenchmarkResult) -> Iterator[dict[str, Any]]:
    """Yield each ceiling once, with the rounds of all rows that were timed with it."""
    samples: dict[str, list[CandidateTimes]] = {}
    for row in result.rows:
        for name, timed in row.ceilings.items():
            samples.setdefault(name, []).append(timed)
    for index, (name, all_timed) in enumerate(samples.items()):
        joined = np.concatenate([timed.samples for timed in all_timed])
        estimate = median_interval(joined)
        amount = all_timed[0].rate * all_timed[0].time.median
        first = all_timed[0]
        entry = CandidateTimes("", first.clock, joined, estimate, amount / estimate.median, first.counts)
        row = BenchmarkRow(f"ceiling.{name}", "", 0)
        indices = {"family_index": index, "per_family_instance_index": index}
        yield from _entries(row.name, entry, row, indices)


def _entries(
    name: str, entry: CandidateTimes, row: BenchmarkRow, indices: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield the repetitions of one candidate and the statistics over them."""
    blocks = np.array_split(entry.samples, min(REPETITIONS, len(entry.samples)))
    # Use the median round of each repetition, so that one disturbed round does not affect it.
    values = np.array([np.median(block) for block in blocks])
    common = {**indices, "run_name": name, "repetitions": len(blocks), "threads": 1}
    for index, (block, value) in enumerate(zip(blocks, values, strict=True)):
        yield {
            "name": name,
            **common,
            "run_type": "iteration",
            "repetition_index": index,
            "iterations": len(block),
            **_times(value, row),
            **_rates(value, row, entry),
            "label": _label(row, entry),
        }
    statistics = {
        "mean": float(np.mean(values)),
        "median": entry.time.median,
        "stddev": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
    }
    for aggregate, value in statistics.items():
        details = _details(row, entry) if aggregate == "median" else {}
        yield {**_aggregate(name, aggregate, "time", common, entry), **_times(value, row), **details}
    deviation = statistics["stddev"] / statistics["mean"] if statistics["mean"] else 0.0
    times = {"real_time": deviation, "cpu_time": deviation, "time_unit": "ns"}
    yield {**_aggregate(name, "cv", "percentage", common, entry), **times}


def _aggregate(
    name: str, aggregate: str, unit: str, common: Mapping[str, Any], entry: CandidateTimes
) -> dict[str, Any]:
    return {
        "name": f"{name}_{aggregate}",
        **common,
        "run_type": "aggregate",
        "aggregate_name": aggregate,
        "aggregate_unit": unit,
        "iterations": len(entry.samples),
    }


def _times(value: float, row: BenchmarkRow) -> dict[str, Any]:
    """Return the fields of a time; only seconds are converted, and the label names other units."""
    number = value * _NANOSECONDS if row.unit == "s" else value
    # The host only waits, so it has no CPU time of its own, but readers of the format require the field.
    return {"real_time": number, "cpu_time": number, "time_unit": "ns"}


def _rates(value: float, row: BenchmarkRow, entry: CandidateTimes) -> dict[str, float]:
    if row.unit != "s" or value <= 0:
        return {}
    if row.name.startswith("ceiling."):
        return {f"{entry.counts}_per_second": entry.rate * entry.time.median / value}
    counted = {"bytes": row.bytes, "items": row.items, "operations": row.operations}
    return {f"{name}_per_second": amount / value for name, amount in counted.items() if amount}


def _label(row: BenchmarkRow, entry: CandidateTimes) -> str:
    words = [entry.clock] if row.unit == "s" else [f"{row.unit}, not ns", entry.clock]
    if row.rounds and not row.steady:
        words.append("not steady")
    return ", ".join(words)


def _details(row: BenchmarkRow, entry: CandidateTimes) -> dict[str, Any]:
    """Return values that have no field in Google's format, as counters of the median's entry."""
    factor = _NANOSECONDS if row.unit == "s" else 1.0
    details: dict[str, Any] = {
        "label": _label(row, entry),
        "unit": row.unit,
        "time_low": entry.time.low * factor,
        "time_high": entry.time.high * factor,
        "confidence": entry.time.confidence,
        **_rates(entry.time.median, row, entry),
    }
    if entry.name == row.pair[0] and row.ratio is not None:
        details |= _ratio(f"{row.pair[1]}_ratio", row.ratio)
    if entry.name in row.ratios:
        details |= _ratio(f"ratio_to_{row.pair[0]}", row.ratios[entry.name])
    share: Share | None = row.shares.get(entry.name)
    if share is not None:
        details |= {"ceiling": share.ceiling, **_ratio("ceiling_share", share.part)}
    if row.rounds:
        details |= {"rounds": row.rounds, "warm_up_rounds": row.warm_up, "data_sets": row.sets}
    return details


def _ratio(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.median, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _without_time(name: str, kind: str, indices: Mapping[str, int], message: str) -> dict[str, Any]:
    """Return an entry without a time: an aggregate, which readers do not compare with times."""
    errors = {"error_occurred": True, "error_message": message}
    return {
        "name": f"{name}_{kind}",
        **indices,
        "run_name": name,
        "run_type": "aggregate",
        "repetitions": 1,
        "threads": 1,
        "aggregate_name": kind,
        "aggregate_unit": "time",
        **(errors if kind == "error" else {"skipped": True, "skip_message": message}),
        "iterations": 0,
    }
