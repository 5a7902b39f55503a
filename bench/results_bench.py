"""Table of docs/results/benchmarks.md: recorded benchmarks compared with PyTorch and CuPy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "results" / "nvidia-h200"
COLUMNS = ("", "subgroups", "shared memory", "torch", "CuPy", "wanted", "")


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes
    ----------
    title : the measured work.
    file : file of the run, without ``bench_`` and ``.json``.
    benchmarks : benchmarks whose numbers share a cell.
    peer : the peer of the target.
    ratio : target of the peer's time divided by vkgroup's time.
    share : additional target, as a share of the copy's rate; 0 for none.
    keys : whether the rate counts elements instead of bytes.
    """

    title: str
    file: str
    benchmarks: Sequence[str]
    peer: str
    ratio: float
    share: float = 0.0
    keys: bool = False


_ROWS = (1024, 2048, 4096, 8192)
_MAIN = "reduce_scan_compact_sort"
LINES = (
    Line("sum of float32", _MAIN, ("reduce.sum.float32",), "torch", 1.0, 0.97),
    Line("inclusive scan of float32", _MAIN, ("scan.add.float32",), "torch", 1.35, 0.82),
    Line("inclusive scan of uint32", _MAIN, ("scan.add.uint32",), "torch", 1.35, 0.82),
    Line("compaction of uint32, half kept", _MAIN, ("compact.uint32.50",), "torch", 4.0),
    Line(
        "histogram of 256 bins: uniform, all equal",
        "histogram",
        ("histogram.256.float32.uniform", "histogram.256.float32.equal"),
        "torch",
        3.0,
    ),
    Line("sort of uint32", _MAIN, ("sort.keys.uint32",), "cupy", 0.9, keys=True),
    Line("sort of int32 with values", _MAIN, ("sort.pairs.int32",), "torch", 1.2, keys=True),
    Line(
        "softmax, rows of 1024, 2048, 4096, 8192",
        "rows",
        tuple(f"softmax.float32.{width}" for width in _ROWS),
        "torch",
        1.0,
    ),
    Line(
        "layer norm, the same rows",
        "rows",
        tuple(f"layer_norm.float32.{width}" for width in _ROWS),
        "torch",
        1.0,
    ),
)


@cache
def medians(file: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the recorded medians of a run by benchmark and candidate; each benchmark has one size."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in json.loads((RECORDED / f"bench_{file}.json").read_text())["benchmarks"]:
        benchmark, *rest = row.get("run_name", "").split("/")
        if row.get("aggregate_name") == "median" and rest:
            found.setdefault(benchmark, {})[rest[-1]] = row
    return found


def _rate(row: dict[str, Any], keys: bool) -> str:
    value = row["items_per_second" if keys else "bytes_per_second"] / 1e9
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(row: dict[str, Any]) -> str:
    return f"{row['ratio_to_subgroup']:.2f}"


def _cell(line: Line, candidate: str) -> str:
    """Return the text of rates with their unit, and their shares of the copy or their time ratios."""
    rows = [medians(line.file)[name].get(candidate) for name in line.benchmarks]
    given = [row for row in rows if row is not None]
    if len(given) < len(rows):
        return ""
    rates = f"{', '.join(_rate(row, line.keys) for row in given)} {'Gkeys/s' if line.keys else 'GB/s'}"
    if candidate in ("torch", "cupy"):
        return f"{rates}: {', '.join(_ratio(row) for row in given)}"
    return f"{rates}, {100 * given[0]['ceiling_share']:.0f} % of the copy" if line.share else rates


def _verdict(line: Line) -> str:
    """Return whether all benchmarks of a line meet their targets."""
    missed = 0
    for name in line.benchmarks:
        entries = medians(line.file)[name]
        beside = entries[line.peer]["ratio_to_subgroup"] >= line.ratio
        missed += not (beside and entries["subgroup"]["ceiling_share"] >= line.share)
    return "met" if not missed else "missed" if missed == len(line.benchmarks) else f"missed in {missed}"


def table() -> str:
    """Return the Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    for line in LINES:
        title = {"torch": "torch", "cupy": "CuPy"}[line.peer]
        wanted = f"{title} ≥ {line.ratio:.2f}" + (f", ≥ {100 * line.share:.0f} %" if line.share else "")
        cells = [_cell(line, candidate) for candidate in ("subgroup", "shared", "torch", "cupy")]
        lines.append(f"| {' | '.join([line.title, *cells, wanted, _verdict(line)])} |")
    return "\n".join(lines)
