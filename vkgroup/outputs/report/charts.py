"""Benchmarks as charts: subgroup against shared memory, shares of the ceiling, cost by size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vkgroup.outputs.report.benchmarks import PAIR, ContenderTimes, MedianInterval, power
from vkgroup.outputs.report.svg import SERIES, Chart, Scale

_KNOWN = ("subgroup", "shared", "cooperative")
_WIDTH = 318
"""Width of a plot in pixels; with its margins a chart fits a phone without becoming smaller."""

_LABEL_HEIGHT = 16
_FEWEST_SIZES = 3
_MOST_ROWS = 40
"""Maximum number of rows of one chart; longer lists become several charts."""

_LEAST, _MOST = 1e-100, 1e100
"""Limits of drawn values; files may have others."""

_SIZED_WIDTH, _SIZED_HEIGHT = 258, 190
_MOST_TICKS = 6


class Figure(NamedTuple):
    """A chart with its title and description."""

    title: str
    words: str
    svg: str


class _Point(NamedTuple):
    """A value with its interval, and what the contender does, such as "takes 2 times the time"."""

    contender: ContenderTimes
    interval: MedianInterval
    words: str

    @property
    def text(self) -> str:
        """The description: contender, value and interval."""
        interval = f"(from {_plain(self.interval.low)} to {_plain(self.interval.high)})"
        return f"{self.contender.row}: {self.contender.version} {self.words} {interval}"


def charts_of(timed: Sequence[ContenderTimes]) -> list[Figure]:
    """Return the charts of one file of benchmarks; an empty list if it has nothing to draw."""
    found = []
    for rows, part in _parts(_last_sizes(timed)):
        found += _ratios(rows, part)
        found += _shares(rows, part)
    return found + _by_size(timed)


def _last_sizes(timed: Sequence[ContenderTimes]) -> list[ContenderTimes]:
    """Drop the smaller sizes of benchmarks that are drawn by size."""
    swept = {key for key, sizes in _sizes(timed).items() if len(sizes) >= _FEWEST_SIZES}
    last = {key: max(sizes) for key, sizes in _sizes(timed).items()}
    ceilings = [one for one in timed if not one.name.startswith("ceiling.")]
    return [one for one in ceilings if _key(one) not in swept or one.size == last[_key(one)]]


def _key(timed: ContenderTimes) -> tuple[str, str]:
    return timed.name, timed.tuning


def _sizes(timed: Iterable[ContenderTimes]) -> dict[tuple[str, str], set[int]]:
    found: dict[tuple[str, str], set[int]] = {}
    for one in timed:
        if one.size:
            found.setdefault(_key(one), set()).add(one.size)
    return found


def _parts(timed: Sequence[ContenderTimes]) -> list[tuple[list[ContenderTimes], str]]:
    """Split long lists, by the first two parts of the names if there are many."""
    rows: dict[str, list[ContenderTimes]] = {}
    for one in timed:
        rows.setdefault(one.row, []).append(one)
    if len(rows) <= _MOST_ROWS:
        return [(list(timed), "")] if timed else []
    groups: dict[str, list[list[ContenderTimes]]] = {}
    for members in rows.values():
        groups.setdefault(".".join(members[0].name.split(".")[:2]), []).append(members)
    found = []
    for group, members_of in groups.items():
        pieces = math.ceil(len(members_of) / _MOST_ROWS)
        for piece in range(pieces):
            some = members_of[piece * _MOST_ROWS : (piece + 1) * _MOST_ROWS]
            number = f" ({piece + 1} of {pieces})" if pieces > 1 else ""
            found.append(([one for members in some for one in members], f": {group}{number}"))
    return found


def _ratios(timed: Sequence[ContenderTimes], part: str) -> list[Figure]:
    """Draw the time of other versions divided by that of the version with subgroup operations."""
    points = [
        _Point(one, one.ratio, f"takes {one.ratio.value:.3g} times the subgroup version's time")
        for one in timed
        if one.ratio is not None and _is_drawable(one.ratio)
    ]
    if not points:
        return []
    title = f"Subgroup against {PAIR[1]} memory and others{part}"
    words = (
        "How many times as long each alternative takes as the version with subgroup operations, with its "
        "interval. Right of the line at 1, subgroup operations are faster."
    )
    low = min(1.0, *(point.interval.low for point in points)) / 1.1
    high = max(1.0, *(point.interval.high for point in points)) * 1.1
    scale = Scale(low, high, 0, _WIDTH)
    ticks = {scale.at(tick): f"{tick:g}" for tick in scale.ticks()}
    label = "time ÷ subgroup version's time (log scale)"
    return [Figure(title, words, _rows(title, points, scale, label, ticks))]


def _shares(timed: Sequence[ContenderTimes], part: str) -> list[Figure]:
    """Draw each version's share of the device's ceiling."""
    points = [
        _Point(one, one.share, f"reaches {100 * one.share.value:.3g} % of the ceiling of {one.ceiling}")
        for one in timed
        if one.share is not None and _is_drawable(one.share)
    ]
    if not points:
        return []
    title = f"Share of the ceiling{part}"
    words = (
        "Which part of the device's own limit (the ceiling that holds it) each version reaches, with its "
        "interval."
    )
    high = max(1.0, *(point.interval.high for point in points)) * 1.05
    scale = Scale(0, high, 0, _WIDTH, log=False)
    ticks = {scale.at(tick): f"{100 * tick:.3g} %" for tick in scale.ticks()}
    return [Figure(title, words, _rows(title, points, scale, "share of the ceiling", ticks))]


def _is_drawable(interval: MedianInterval) -> bool:
    return all(_LEAST < value < _MOST for value in (interval.value, interval.low, interval.high))


def _rows(title: str, points: Sequence[_Point], scale: Scale, label: str, ticks: dict[float, str]) -> str:
    """Return points with their intervals below the label of their row, and a line at 1."""
    versions = _versions(point.contender.version for point in points)
    rows = list(dict.fromkeys(point.contender.row for point in points))
    step = _LABEL_HEIGHT + 9 * len(versions) + 8
    chart = Chart(title, _WIDTH, step * len(rows), [])
    chart.horizontal(label, ticks)
    chart.reference(scale.at(1.0))
    chart.rows({step * number: row for number, row in enumerate(rows)})
    series = _series(versions)
    for point in points:
        row, version = point.contender.row, point.contender.version
        place = (versions.index(version) + 0.5) / len(versions)
        y = round(step * rows.index(row) + _LABEL_HEIGHT + 4 + 9 * len(versions) * place, 2)
        value, low, high = (
            scale.at(x) for x in (point.interval.value, point.interval.low, point.interval.high)
        )
        chart.interval(low, high, y, series[version])
        chart.point(value, y, series[version], point.text)
    top = chart.legend(series.items(), bottom=-14)
    return chart.svg(left=8, top=top)


def _by_size(timed: Sequence[ContenderTimes]) -> list[Figure]:
    """Draw the time of each version at each size, with one chart for each benchmark."""
    swept = {key for key, sizes in _sizes(timed).items() if len(sizes) >= _FEWEST_SIZES}
    by_key: dict[tuple[str, str], list[ContenderTimes]] = {}
    for one in timed:
        if _key(one) in swept and _is_drawable(one.time):
            by_key.setdefault(_key(one), []).append(one)
    series = _series(_versions(one.version for members in by_key.values() for one in members))
    words = "Time of one run at each size, with its interval; both scales are logarithmic."
    figures = []
    for key, members in by_key.items():
        title = f"Cost by size: {' · '.join(part for part in key if part)}"
        figures.append(Figure(title, words, _sized(title, members, series)))
    return figures


def _sized(title: str, members: Sequence[ContenderTimes], series: dict[str, int]) -> str:
    """Return a line for each version, with the time over the size."""
    factor, unit = (1e-3, "µs") if members[0].unit == "ns" else (1.0, members[0].unit)
    sizes = sorted({one.size for one in members})
    x = Scale(sizes[0], sizes[-1], 0, _SIZED_WIDTH)
    low = factor * min(one.time.low for one in members) / 1.2
    y = Scale(low, factor * max(one.time.high for one in members) * 1.2, _SIZED_HEIGHT, 0)
    chart = Chart(title, _SIZED_WIDTH, _SIZED_HEIGHT, [])
    shown = sizes[:: math.ceil(len(sizes) / _MOST_TICKS)]
    chart.horizontal("size", {x.at(size): power(size) for size in shown})
    chart.vertical(unit, {y.at(tick): _plain(tick) for tick in y.ticks()})
    present = {name: number for name, number in series.items() if any(one.version == name for one in members)}
    for name, number in present.items():
        points = []
        for one in sorted((one for one in members if one.version == name), key=lambda one: one.size):
            value, least, most = (factor * time for time in (one.time.value, one.time.low, one.time.high))
            points.append((x.at(one.size), y.at(value), y.at(least), y.at(most)))
            words = f"{name}, size {power(one.size)}: {_plain(value)} {unit}"
            chart.point(*points[-1][:2], number, f"{words} (from {_plain(least)} to {_plain(most)})")
        chart.band(points, number)
    return chart.svg(left=62, top=chart.legend(present.items()))


def _versions(names: Iterable[str]) -> list[str]:
    """Return the versions without duplicates, vkgroup's first, otherwise in their order."""
    found = list(dict.fromkeys(names))
    return [name for name in _KNOWN if name in found] + [name for name in found if name not in _KNOWN]


def _series(versions: Sequence[str]) -> dict[str, int]:
    """Return each version's colour and shape; vkgroup's versions have the same ones in every chart."""
    others = [version for version in versions if version not in _KNOWN]
    numbers = {
        version: len(_KNOWN) + number % (SERIES - len(_KNOWN)) for number, version in enumerate(others)
    }
    return {version: _KNOWN.index(version) if version in _KNOWN else numbers[version] for version in versions}


def _plain(number: float) -> str:
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"
