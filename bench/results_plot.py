"""Draw the picture of docs/results/benchmarks.md with matplotlib: ``python bench/results_plot.py``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
RECORDED = HERE / "results" / "nvidia-h200"
PICTURE = HERE.parent / "docs" / "images" / "bench-h200.png"

# Okabe and Ito's palette, as in `vkgroup bench --plot`.
COLORS = {"subgroup": "#0072B2", "shared": "#D55E00", "torch": "#999999", "cupy": "#009E73"}
MARKERS = {"subgroup": "o", "shared": "s"}
BARS = {
    "reduce.sum.float32": "sum\nfloat32",
    "scan.add.float32": "scan\nfloat32",
    "compact.uint32.50": "compaction\nhalf of uint32",
    "histogram.256.float32.uniform": "histogram\n256 bins",
}
LINES = {
    "scan.add.float32": "scan",
    "compact.uint32.50": "compaction",
    "histogram.256.float32.uniform": "histogram of 256 bins",
    "sort.keys.uint32": "sort",
}
STYLES = ("-", "--", ":", "-.")

Rates = dict[str, dict[int, dict[str, float]]]


def rates(*names: str) -> tuple[Rates, float]:
    """Return GB/s by benchmark, size and candidate, and GB/s of the copy."""
    found: Rates = defaultdict(lambda: defaultdict(dict))
    copy = 0.0
    for name in names:
        for row in json.loads((RECORDED / name).read_text())["benchmarks"]:
            if row.get("aggregate_name") != "median" or "bytes_per_second" not in row:
                continue
            benchmark, *rest = row["run_name"].split("/")
            if rest:
                found[benchmark][int(rest[0])][rest[1]] = row["bytes_per_second"] / 1e9
            elif benchmark == "ceiling.copy":
                copy = row["bytes_per_second"] / 1e9
    return found, copy


def bars(axes: Any) -> None:
    """Plot the results at 2^28 as bars, grouped by run."""
    found, copy = rates("bench_reduce_scan_compact_sort.json", "bench_histogram.json")
    for place, benchmark in enumerate(BARS):
        entries = found[benchmark][2**28]
        for number, (name, color) in enumerate(COLORS.items()):
            at = place + 0.21 * (number - 1.5)
            axes.bar(at, entries[name], 0.2, color=color, label=name if not place else None)
            axes.text(at, entries[name] + 40, f"{entries[name]:.0f}", ha="center", fontsize=5.5)
    axes.axhline(copy, color="#777777", linestyle="--", linewidth=1)
    axes.text(len(BARS) - 0.45, copy + 60, "copy", ha="right", fontsize=7, color="#777777")
    axes.set_xticks(range(len(BARS)), BARS.values(), fontsize=8)
    axes.set_ylim(0, 5300)
    axes.set_ylabel("GB/s read and written")
    axes.set_title("2^28 elements, neighboring bars from one run")
    axes.legend(loc="upper center", ncol=4, fontsize=8)


def lines(axes: Any) -> None:
    """Plot the rate over the size."""
    found, copy = rates("bench_sizes_scan_sort.json", "bench_sizes_compact_histogram.json")
    for benchmark, style in zip(LINES, STYLES, strict=True):
        for name in ("subgroup", "shared"):
            points = sorted((size, entries[name]) for size, entries in found[benchmark].items())
            axes.plot(
                *zip(*points, strict=True),
                style,
                color=COLORS[name],
                marker=MARKERS[name],
                markersize=3.5,
                linewidth=1.2,
                label=f"{LINES[benchmark]}, {name}",
            )
    axes.axhline(copy, color="#777777", linestyle="--", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("elements")
    axes.set_ylabel("GB/s read and written")
    axes.set_title("by size")
    axes.legend(loc="lower right", fontsize=6)


def main() -> None:
    """Write the plot."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "#dddddd"})
    plt.rcParams.update({"legend.frameon": False, "axes.titlesize": 10})
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    bars(left)
    lines(right)
    figure.suptitle("NVIDIA H200, driver 580.159.04", fontsize=10)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    print(PICTURE)


if __name__ == "__main__":
    main()
