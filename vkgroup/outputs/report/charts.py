"""Benchmarks as charts: subgroup against shared memory, shares of the ceiling, cost by size (Vega-Lite)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vkgroup.outputs.report.benchmarks import PAIR, ContenderTimes, MedianInterval, power

Spec = dict[str, Any]

_KNOWN = ("subgroup", "shared", "cooperative")
_SERIES = 8
"""Colours of versions from the page's style sheet, and their shapes."""

_SHAPES = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
_WIDTH = 560
_FEWEST_SIZES = 3
_MOST_ROWS = 40
"""Maximum number of rows of one chart; longer lists become several charts."""

_SIZED_WIDTH, _SIZED_HEIGHT = 300, 190
_MOST_TICKS = 8
_FEW_DECADES = 2.5


@dataclass(frozen=True)
class Chart:
    """A chart: its description and its Vega-Lite specification."""

    title: str
    words: str
    spec: Spec


def charts_of(timed: Sequence[ContenderTimes]) -> list[Chart]:
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


def _ratios(timed: Sequence[ContenderTimes], part: str) -> list[Chart]:
    """Draw the time of other versions divided by that of the version with subgroup operations."""
    values = [
        _value(
            one, one.ratio, f"{one.row}: {one.version} takes {_times(one.ratio)} the subgroup version's time"
        )
        for one in timed
        if one.ratio is not None and one.ratio.low > 0
    ]
    if not values:
        return []
    spec = _intervals(values, "time of the other ÷ time with subgroup operations (log scale)", "log", 1.0)
    words = (
        "How many times as long each alternative takes as the version with subgroup operations, with its "
        "interval. Right of the line at 1, subgroup operations are faster."
    )
    return [Chart(f"Subgroup against {PAIR[1]} memory and others{part}", words, spec)]


def _shares(timed: Sequence[ContenderTimes], part: str) -> list[Chart]:
    """Draw each version's share of the device's ceiling."""
    values = [
        _value(
            one,
            one.share,
            f"{one.row}: {one.version} reaches {100 * one.share.value:.3g} % of the ceiling of {one.ceiling}",
        )
        for one in timed
        if one.share is not None
    ]
    if not values:
        return []
    spec = _intervals(values, "share of the ceiling", "linear", 1.0, percent=True)
    words = (
        "Which part of the device's own limit (the ceiling that holds it) each version reaches, with its "
        "interval."
    )
    return [Chart(f"Share of the ceiling{part}", words, spec)]


def _value(one: ContenderTimes, interval: MedianInterval, words: str) -> dict[str, Any]:
    text = f"{words} (from {_plain(interval.low)} to {_plain(interval.high)})"
    return {
        "row": one.row,
        "version": one.version,
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "words": text,
    }


def _intervals(
    values: Sequence[dict[str, Any]], title: str, scale: str, reference: float, *, percent: bool = False
) -> Spec:
    """Return points with their intervals, one a row, and a reference line."""
    versions = _versions(value["version"] for value in values)
    low = min([reference, *(value["low"] for value in values)])
    high = max([reference, *(value["high"] for value in values)])
    domain = [low / 1.1, high * 1.1] if scale == "log" else [0, max(1.0, high) * 1.05]
    axis: Spec = {"title": title, "grid": True, **({"format": "%"} if percent else {"format": "~g"})}
    x = {"type": "quantitative", "scale": {"type": scale, "domain": domain, "nice": False}, "axis": axis}
    y: Spec = {
        "field": "row",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "labelLimit": 340, "grid": True},
    }
    version: Spec = {"field": "version", "type": "nominal", "title": None}
    offset = {"yOffset": {"field": "version", "type": "nominal", "sort": list(versions)}}
    step = max(20, 9 * len(versions) + 8)
    return {
        "width": _WIDTH,
        "height": {"step": step, "for": "position"},
        "data": {"values": list(values)},
        "layer": [
            {
                "data": {"values": [{"at": reference}]},
                "mark": {"type": "rule", "stroke": "var(--ink)", "strokeDash": [4, 3], "aria": False},
                "encoding": {"x": {**x, "field": "at"}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.55, "aria": False},
                "encoding": {
                    "x": {**x, "field": "low"},
                    "x2": {"field": "high"},
                    "y": y,
                    "color": {**version, "scale": _colours(versions)},
                    **offset,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                "encoding": {
                    "x": {**x, "field": "value"},
                    "y": y,
                    "color": {**version, "scale": _colours(versions)},
                    "shape": {**version, "scale": _shapes(versions)},
                    "description": {"field": "words"},
                    **offset,
                },
            },
        ],
    }


def _by_size(timed: Sequence[ContenderTimes]) -> list[Chart]:
    """Draw the time of each version at each size, with one panel for each benchmark."""
    swept = {key for key, sizes in _sizes(timed).items() if len(sizes) >= _FEWEST_SIZES}
    by_key: dict[tuple[str, str], list[ContenderTimes]] = {}
    for one in timed:
        if _key(one) in swept and one.time.low > 0:
            by_key.setdefault(_key(one), []).append(one)
    versions = _versions(one.version for members in by_key.values() for one in members)
    return [
        Chart(
            f"Cost by size: {' · '.join(part for part in key if part)}",
            "Time of one run at each size, with its interval; both scales are logarithmic.",
            _panel(members, versions),
        )
        for key, members in by_key.items()
    ]


def _panel(members: Sequence[ContenderTimes], versions: Sequence[str]) -> Spec:
    factor, unit = (1e-3, "µs") if members[0].unit == "ns" else (1.0, members[0].unit)
    values: list[dict[str, Any]] = [
        {
            "size": one.size,
            "version": one.version,
            "value": one.time.value * factor,
            "low": one.time.low * factor,
            "high": one.time.high * factor,
            "words": f"{one.version}, size {power(one.size)}: {_plain(one.time.value * factor)} {unit} "
            f"(from {_plain(one.time.low * factor)} to {_plain(one.time.high * factor)})",
        }
        for one in members
    ]
    present = [version for version in versions if any(value["version"] == version for value in values)]
    version: Spec = {"field": "version", "type": "nominal", "title": None}
    colour = {**version, "scale": _colours(present, versions)}
    x: Spec = {
        "field": "size",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"title": "size", **_size_ticks({one.size for one in members})},
    }
    low, high = min(value["low"] for value in values), max(value["high"] for value in values)
    y: Spec = {
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "domain": [low / 1.2, high * 1.2]},
        "axis": {"title": unit, "format": "~s", "values": _decades(low / 1.2, high * 1.2)},
    }
    return {
        "width": _SIZED_WIDTH,
        "height": _SIZED_HEIGHT,
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.25, "aria": False},
                "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "line", "strokeWidth": 1.6, "aria": False},
                "encoding": {"x": x, "y": {**y, "field": "value"}, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 32, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "value"},
                    "color": colour,
                    "shape": {**version, "scale": _shapes(present, versions)},
                    "description": {"field": "words"},
                },
            },
        ],
    }


def _size_ticks(sizes: set[int]) -> Spec:
    """Return a few of the sizes as labelled ticks of an axis."""
    every = sorted(sizes)
    step = math.ceil(len(every) / _MOST_TICKS)
    ticks = every[::step]
    names = json.dumps({str(size): power(size) for size in ticks}, ensure_ascii=False)
    return {"values": ticks, "labelExpr": f"{names}[toString(datum.value)]", "labelOverlap": False}


def _decades(low: float, high: float) -> list[float]:
    """Return round numbers between two limits: powers of ten, and multiples of them if those are few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1,) if math.log10(high / low) >= _FEW_DECADES else (1, 2, 5)
    ticks = [digit * 10.0**exponent for exponent in exponents for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]


def _versions(names: Iterable[str]) -> list[str]:
    """Return the versions without duplicates, vkgroup's first, otherwise in their order."""
    found = list(dict.fromkeys(names))
    return [name for name in _KNOWN if name in found] + [name for name in found if name not in _KNOWN]


def _places(versions: Sequence[str]) -> dict[str, int]:
    """Return each version's colour and shape; vkgroup's versions have the same ones in every chart."""
    others = [version for version in versions if version not in _KNOWN]
    return {
        **{version: number for number, version in enumerate(_KNOWN)},
        **{version: len(_KNOWN) + number % (_SERIES - len(_KNOWN)) for number, version in enumerate(others)},
    }


def _colours(versions: Sequence[str], among: Sequence[str] | None = None) -> Spec:
    places = _places(among or versions)
    return {"domain": list(versions), "range": [f"var(--series-{places[name]})" for name in versions]}


def _shapes(versions: Sequence[str], among: Sequence[str] | None = None) -> Spec:
    places = _places(among or versions)
    return {"domain": list(versions), "range": [_SHAPES[places[name]] for name in versions]}


def _times(ratio: MedianInterval) -> str:
    return f"{ratio.value:.3g} times"


def _plain(number: float) -> str:
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"
