"""Charts of a report: places of points, and names and values of any kind."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import sample_runs as made

from vkgroup.cli.main import main
from vkgroup.outputs.report.benchmarks import ContenderTimes, MedianInterval
from vkgroup.outputs.report.charts import charts_of
from vkgroup.outputs.report.svg import Scale, drawable

NAMES = {
    "control": "a\x01b\x7f\x9f",
    "nul": "\0",
    "line": "a\u2028b\u2029",
    "surrogate": "\ud800 and \udfff",
    "noncharacter": "\ufffe\uffff\U0001ffff",
    "markup": "</svg><script>alert(1)</script>&amp;\\1\"'",
    "long": "x" * 300_000,
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("part", ["name", "version", "ceiling"])
def test_names_of_any_characters(kind: str, part: str, tmp_path: Path) -> None:
    data = made.bench(1.0)
    for row in data["benchmarks"]:
        name, size, version = row["run_name"].split("/")
        text = NAMES[kind].replace("/", "")
        changed = {"name": f"{name}{text}/{size}/{version}", "version": f"{name}/{size}/{version}{text}"}
        row["run_name"] = changed.get(part, row["run_name"])
        row["ceiling"] = text if part == "ceiling" else row["ceiling"]
    (tmp_path / "bench.json").write_text(json.dumps(data))
    assert main(["report", str(tmp_path / "bench.json"), "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    charts = page[page.index('<div class="charts"') :].split("<svg ")[1:]
    assert len(charts) >= 2
    for chart in charts:
        ElementTree.fromstring("<svg " + chart[: chart.index("</svg>") + len("</svg>")])


def test_different_names_stay_different() -> None:
    assert drawable("a\x01") == r"a\u0001"
    assert drawable("é€😀") == "é€😀"
    texts = {drawable(text) for text in ("a\x01", "a\x02", "a\ud800", "a")}
    assert len(texts) == 4
    assert len(drawable("x" * 300_000)) == 500


def timed(version: str, share: float, size: int = 1) -> ContenderTimes:
    """A contender that reaches a share of its ceiling."""
    interval = MedianInterval(share, share * 0.9, share * 1.1)
    return ContenderTimes("copy", size, "", version, interval, "ns", 0, "", None, interval, "memory")


def points(svg: str) -> dict[str, tuple[float, float]]:
    """Return the places of a chart's points, by the words for screen readers."""
    marks = ElementTree.fromstring(svg).iter("path")
    places = {
        mark.attrib["aria-label"]: re.findall(r"[-\d.]+", mark.attrib["transform"])
        for mark in marks
        if "aria-label" in mark.attrib
    }
    return {words: (float(x), float(y)) for words, (x, y) in places.items()}


def test_a_point_is_at_its_value_and_in_its_row() -> None:
    (figure,) = charts_of([timed("subgroup", 0.25), timed("shared", 0.5), timed("subgroup", 0.75, size=2)])
    (first, second, third) = points(figure.svg).values()
    texts = {text.text: float(text.attrib["x"]) for text in ElementTree.fromstring(figure.svg).iter("text")}
    at = {share: texts[f"{share} %"] for share in (20, 40, 60, 80)}
    assert first[0] == pytest.approx((3 * at[20] + at[40]) / 4, abs=0.01)
    assert second[0] == pytest.approx((at[40] + at[60]) / 2, abs=0.01)
    assert first[1] < second[1] < third[1]
    assert third[0] == pytest.approx((at[60] + 3 * at[80]) / 4, abs=0.01)


def test_sizes_are_drawn_as_a_line_with_logarithmic_scales() -> None:
    *_, figure = charts_of([timed("subgroup", 10.0 * size, size) for size in (1, 2, 4, 8)])
    assert figure.title == "Cost by size: copy"
    places = list(points(figure.svg).values())
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(places)]
    assert steps == [pytest.approx(steps[0], abs=0.05)] * 3
    assert steps[0][0] > 0 > steps[0][1]  # larger sizes to the right, longer times above
    (line,) = ElementTree.fromstring(figure.svg).iter("polyline")
    assert line.attrib["points"] == " ".join(f"{x},{y}" for x, y in places)


@pytest.mark.parametrize("value", [0.0, -1.0, 5e-324, 1.7e308, math.nan, math.inf])
def test_values_that_a_scale_cannot_have_are_left_out(value: float) -> None:
    normal = [timed("shared", 0.5, size) for size in (1, 2, 4)]
    figures = charts_of([*normal, timed("subgroup", value, 1), timed("subgroup", value, 4)])
    assert [(figure.title, len(points(figure.svg))) for figure in figures] == [
        ("Share of the ceiling", 1),  # of the largest size
        ("Cost by size: copy", 3),
    ]
    for figure in figures:
        assert "nan" not in figure.svg
        assert "inf" not in figure.svg


@pytest.mark.parametrize("high", [1.01, 5.0, 12.0, 1e3, 1e90])
@pytest.mark.parametrize("log", [False, True])
def test_axes_have_a_few_round_ticks(high: float, log: bool) -> None:
    scale = Scale(1.0, high, 0, 100, log)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(ticks)
    assert 0 <= scale.at(ticks[0]) < scale.at(ticks[-1]) <= 100


def test_long_labels_keep_their_ends_and_fit_a_phone() -> None:
    names = [f"micro.latency.a_long_name_of_an_operation.{kind}" for kind in ("float32", "uint32")]
    rows = [dataclasses.replace(timed("shared", 0.5, size=0), name=name * 2) for name in names]
    (figure,) = charts_of(rows)
    svg = ElementTree.fromstring(figure.svg)
    assert float(svg.attrib["width"]) <= 346
    labels = [str(text.text) for text in svg.iter("text") if "…" in str(text.text)]
    assert [label[-7:] for label in labels] == ["float32", ".uint32"]
    assert [text[0].text for text in svg.iter("text") if len(text)] == [name * 2 for name in names]
