"""Plots of results: lines over size or a tuning parameter, or bars for all rows."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from types import ModuleType
from typing import Any

from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.bench.catalogue import power_text
from vkgroup.bench.row import BenchmarkRow, CandidateTimes

# Okabe and Ito's color-blind safe palette; a version has the same color in all plots.
_COLORS = {"subgroup": "#0072B2", "shared": "#D55E00", "cooperative": "#009E73"}
_OTHERS = ("#CC79A7", "#E69F00", "#56B4E9", "#999999", "#000000")
_MARKERS = {"subgroup": "o", "shared": "s", "cooperative": "D"}
_OTHER_MARKERS = "^vPX*"
_CEILING = "#777777"

_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.dpi": 160,
    "savefig.dpi": 160,
}


def plot(rows: Sequence[BenchmarkRow], path: Path, title: str, sweep: str | None = None) -> None:
    """Plot rows into a file; rows without times are omitted.

    The suffix of the path selects the format (``.png``, ``.svg``, ``.pdf``); the title names the machine.
    `sweep` is ``"size"`` or the tuning parameter that varies between the rows, for one line per version; None
    for bars.
    """
    library = _matplotlib()
    timed = [row for row in rows if row.timed]
    if not timed:
        raise InvalidInput("There is nothing to draw: no row has a time. Run the benchmarks without --smoke.")
    with library.rc_context(_STYLE):
        figure = _bars(library, timed, title) if sweep is None else _lines(library, timed, title, sweep)
        try:
            figure.savefig(path)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{path} cannot be written: {error}") from error
        finally:
            library.close(figure)


def require_drawable(path: Path) -> None:
    """Raise `Unsupported` or `InvalidInput` if a plot cannot be written, before a long measurement starts."""
    formats = _matplotlib().figure().canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in formats:
        raise InvalidInput(f"{path}: the suffix of a plot must be .png, .svg or .pdf.")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}.")


def _matplotlib() -> ModuleType:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise Unsupported(
            "Plots need matplotlib: run pip install 'vkgroup[plot]', or omit --plot.", ["matplotlib"]
        ) from error
    return pyplot


def _colors(rows: Sequence[BenchmarkRow]) -> dict[str, str]:
    """Return a color for each version of the rows: subgroup, shared, other variants, then peers."""
    variants = [name for row in rows for name in row.variants]
    others = cycle(_OTHERS)
    names = dict.fromkeys([*variants, *(name for row in rows for name in row.peers)])
    return {name: _COLORS.get(name) or next(others) for name in names}


def _lines(library: Any, rows: Sequence[BenchmarkRow], title: str, sweep: str) -> Any:
    """Plot one panel per definition, with one line per version."""
    families = list(dict.fromkeys(row.name for row in rows))
    columns = min(3, math.ceil(math.sqrt(len(families))))
    height = math.ceil(len(families) / columns)
    figure, axes = library.subplots(
        height,
        columns,
        figsize=(1.2 + 4.2 * columns, 1.1 + 2.9 * height),
        squeeze=False,
        layout="constrained",
    )
    colors = _colors(rows)
    for panel, family in zip(axes.flat, families, strict=False):
        _panel(panel, [row for row in rows if row.name == family], sweep, colors)
    for panel in list(axes.flat)[len(families) :]:
        panel.set_visible(False)
    entries: dict[str, Any] = {}
    for panel in axes.flat:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    _describe(figure, title, entries)
    return figure


def _describe(figure: Any, title: str, entries: Mapping[str, Any]) -> None:
    """Add the title, in as many lines as it needs, and the legend, in as many columns as fit."""
    width = figure.get_window_extent().width
    heading = figure.suptitle(title, fontsize=10)
    part = heading.get_window_extent().width / (0.96 * width)
    if part > 1:
        heading.set_text(textwrap.fill(title, max(1, int(len(title) / part))))
    for columns in range(min(6, len(entries)), 0, -1):
        legend = figure.legend(
            entries.values(), entries.keys(), loc="outside lower center", ncols=columns, fontsize=9
        )
        if columns == 1 or legend.get_window_extent().width <= width:
            return
        legend.remove()


def _panel(axes: Any, rows: Sequence[BenchmarkRow], sweep: str, colors: dict[str, str]) -> None:
    """Plot one definition: each version's rate with its interval, and the ceiling."""
    position: Callable[[BenchmarkRow], float] = (
        (lambda row: row.size) if sweep == "size" else (lambda row: float(row.tuning[sweep]))
    )
    scale, unit = _unit(rows)
    markers = dict(zip([name for name in colors if name not in _MARKERS], cycle(_OTHER_MARKERS)))
    for name in colors:
        present = [row for row in rows if name in row.timed]
        if not present:
            continue
        xs = [position(row) for row in present]
        middle, low, high = (
            [_height(row, row.timed[name], end) / scale for row in present]
            for end in ("median", "high", "low")
        )
        axes.plot(
            xs, middle, marker={**markers, **_MARKERS}[name], markersize=3.5, label=name, color=colors[name]
        )
        axes.fill_between(xs, low, high, color=colors[name], alpha=0.2, linewidth=0)
    for index, (name, level) in enumerate(_levels(rows).items()):
        style = ("--", ":", "-.")[index % 3]
        axes.axhline(level / scale, color=_CEILING, linestyle=style, linewidth=1.1, label=f"{name} ceiling")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    positions = sorted({position(row) for row in rows})
    if sweep == "size":
        ends = (math.log2(positions[0]), math.log2(positions[-1]))
        step = max(1, math.ceil((ends[1] - ends[0]) / 6))
        axes.set_xticks([2.0**exponent for exponent in range(round(ends[0]), round(ends[1]) + 1, step)])
    else:
        axes.set_xticks(positions, [f"{value:g}" for value in positions])
    axes.minorticks_off()
    axes.set_xlabel("size" if sweep == "size" else _parameter(rows, sweep))
    axes.set_ylabel(unit)
    axes.set_title(rows[0].name)


def _height(row: BenchmarkRow, entry: CandidateTimes, end: str) -> float:
    """Return the value to plot, with its interval: the rate if there is one, otherwise the time."""
    if not entry.rate:
        return float(getattr(entry.time, end))
    return entry.rate * entry.time.median / float(getattr(entry.time, end))


def _unit(rows: Sequence[BenchmarkRow]) -> tuple[float, str]:
    """Return the divisor of the heights, and the label of the axis."""
    if not any(entry.rate for row in rows for entry in row.timed.values()):
        return (1e-6, "µs") if rows[0].unit == "s" else (1.0, rows[0].unit)
    return 1e9, "GB/s" if rows[0].counts == "bytes" else "Gop/s"


def _levels(rows: Sequence[BenchmarkRow]) -> dict[str, float]:
    """Return the ceilings in the unit of the rows' rates, each with its median over the rows."""
    rates: dict[str, list[float]] = {}
    for row in rows:
        for name, entry in row.ceilings.items():
            if entry.counts == row.counts:
                rates.setdefault(name, []).append(entry.rate)
    return {name: sorted(values)[len(values) // 2] for name, values in rates.items()}


def _parameter(rows: Sequence[BenchmarkRow], sweep: str) -> str:
    words = {"workgroup": "invocations a workgroup", "items": "items an invocation"}
    return f"{words.get(sweep, sweep)}, size {_size(rows[0])}"


def _bars(library: Any, rows: Sequence[BenchmarkRow], title: str) -> Any:
    """Plot a group of bars per row: shares of a ceiling, or values grouped by unit."""
    panels: dict[str, list[BenchmarkRow]] = {}
    for row in rows:
        has_shares = len(row.shares) == len(row.timed)
        panels.setdefault("% of the ceiling" if has_shares else _unit([row])[1], []).append(row)
    colors = _colors(rows)
    counts = [sum(len(row.timed) + 0.8 for row in panel) for panel in panels.values()]
    figure, axes = library.subplots(
        len(panels),
        1,
        figsize=(8.2, 1.0 + 0.45 * len(panels) + 0.2 * sum(counts)),
        height_ratios=counts,
        squeeze=False,
        layout="constrained",
    )
    for panel, (unit, panel_rows) in zip(axes.flat, panels.items(), strict=True):
        _bar_panel(panel, panel_rows, unit, colors)
    entries = {name: library.Rectangle((0, 0), 1, 1, color=color) for name, color in colors.items()}
    _describe(figure, title, entries)
    return figure


def _bar_panel(axes: Any, rows: Sequence[BenchmarkRow], unit: str, colors: dict[str, str]) -> None:
    """Plot the bars of rows with the same unit."""
    middles, bottom, longest = [], 0.0, 0.0
    shares = unit.startswith("%")
    for row in rows:
        entries = [(name, row.timed[name]) for name in colors if name in row.timed]
        middles.append(bottom + (len(entries) - 1) / 2)
        for offset, (name, entry) in enumerate(entries):
            longest = max(longest, _bar(axes, bottom + offset, row, entry, colors[name], shares))
        bottom += len(entries) + 0.8
    axes.set_yticks(middles, [_bar_label(row) for row in rows])
    axes.set_ylim(bottom - 1.1, -0.7)
    # Leave room for the text next to the longest bar.
    axes.set_xlim(0, 1.28 * max(longest, 100 if shares else 0))
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(unit)
    if shares:
        axes.axvline(100, color=_CEILING, linestyle="--", linewidth=1.1)


def _bar_label(row: BenchmarkRow) -> str:
    tuning = (f"{key} {value}" for key, value in row.tuning.items())
    return f"{row.name}\n{', '.join((_size(row), *tuning))}"


def _size(row: BenchmarkRow) -> str:
    size = power_text(row.size)
    return f"$2^{{{size[2:]}}}$" if size.startswith("2^") else size


def _bar(
    axes: Any, height: float, row: BenchmarkRow, entry: CandidateTimes, color: str, shares: bool
) -> float:
    """Plot one bar with its interval and the rate next to it, and return its end."""
    scale, word = _unit([row])
    value = _height(row, entry, "median") / scale
    text = f"{value:,.0f} {word}" if value >= 100 else f"{value:.3g} {word}"
    ends = [_height(row, entry, end) / scale for end in ("low", "high")]
    length, low, high = value, min(ends), max(ends)
    if shares:
        part = row.shares[entry.name].part
        length, low, high = 100 * part.median, 100 * part.low, 100 * part.high
        text += f", {length:.1f} % of {row.shares[entry.name].ceiling}"
    axes.barh(height, length, height=0.86, color=color)
    error = [[max(0, length - low)], [max(0, high - length)]]
    axes.errorbar(length, height, xerr=error, color="black", linewidth=0.9, capsize=1.5)
    end = max(length, high)
    style = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 7.5}
    # Use a white background, so that the ceiling's line does not cross the text.
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
    axes.annotate(text, (end, height), bbox=box, **style)
    return end
