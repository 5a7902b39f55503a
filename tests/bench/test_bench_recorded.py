"""The pages show recorded benchmarks as the files have them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from vkgroup.bench import compare
from vkgroup.bench.machine import Cache
from vkgroup.bench.row import TIMESTAMPS, BenchmarkRow, CandidateTimes, Estimate, Share
from vkgroup.bench.run import BenchmarkResult
from vkgroup.cli import bench_tables
from vkgroup.cli.console import WIDTH, Console

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "bench" / "results" / "nvidia-h200"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("bench*.json")), ids=lambda path: path.stem)
def test_recorded_runs_can_be_compared(path: Path) -> None:
    found = compare.compare(path, path)
    assert found.changes
    assert not found.worse


@pytest.mark.parametrize("document", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_files_that_documents_name_are_there(document: Path) -> None:
    """Paths in ``bench/results``, and names of the benchmarks on the H200."""
    words = document.read_text().split("`")
    paths = [word for word in words if word.startswith("bench/results/")]
    paths += [
        f"bench/results/nvidia-h200/{word}"
        for word in words
        if word.startswith("bench_") and word.endswith(".json")
    ]
    assert [path for path in paths if not list(ROOT.glob(path))] == []


def _recorded_row(name: str, size: int) -> BenchmarkRow:
    """The pair of a benchmark on the H200, as far as the table shows it."""
    entries = {
        entry["name"]: entry for entry in json.loads((RECORDED / "bench.json").read_text())["benchmarks"]
    }
    times: dict[str, CandidateTimes] = {}
    for version in ("subgroup", "shared"):
        entry = entries[f"{name}/{size}/{version}_median"]
        median, low, high = (entry[key] / 1e9 for key in ("real_time", "time_low", "time_high"))
        time = Estimate(median, low, high, entry["confidence"], entry["iterations"])
        times[version] = CandidateTimes(version, TIMESTAMPS, np.zeros(0), time, entry["bytes_per_second"])
    entry = entries[f"{name}/{size}/subgroup_median"]
    ratio, share = (
        Estimate(entry[key], entry[f"{key}_low"], entry[f"{key}_high"], 0.95, 1)
        for key in ("shared_ratio", "ceiling_share")
    )
    return BenchmarkRow(
        name,
        name,
        size,
        variants=times,
        ratios={"shared": ratio},
        shares={"subgroup": Share(entry["ceiling"], share)},
    )


def test_the_row_that_the_page_explains_is_the_recorded_one() -> None:
    page = (ROOT / "docs/benchmarks/index.md").read_text("utf-8").partition("## Reading a row")[2]
    shown = re.findall(r"```\n(benchmark .*?)```", page, re.DOTALL)[0]
    table, *_ = bench_tables.results(
        BenchmarkResult((_recorded_row("scan.add.float32", 1 << 28),), Cache(0, ""), {}, {}, ()), smoke=False
    )
    printed = io.StringIO()
    Console(file=printed, width=WIDTH, highlight=False).print(table)
    assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()
