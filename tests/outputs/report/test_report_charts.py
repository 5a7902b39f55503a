"""Charts of a report: names of any characters, and a drawing library that crashes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import sample_runs as made

from vkgroup.outputs.report import plots, read, write_html
from vkgroup.outputs.report.plots import drawable, svg
from vkgroup.outputs.report.plotter import NotDrawn, Plotter

NAMES = {
    "control": "a\x01b\x7f\x9f",
    "nul": "\0",
    "line": "a\u2028b\u2029",
    "surrogate": "\ud800 and \udfff",
    "noncharacter": "\ufffe\uffff\U0001ffff",
    "markup": "</svg><script>alert(1)</script>&amp;\\1\"'",
    "long": "x" * 300_000,
}

SPEC = {
    "data": {"values": [{"name": "a", "value": 1}]},
    "mark": "bar",
    "encoding": {"x": {"field": "name", "type": "nominal"}, "y": {"field": "value", "type": "quantitative"}},
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
    command = [sys.executable, "-m", "vkgroup", "report", "bench.json", "-o", "report.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "This chart is missing" not in page
    charts = page[page.index('<div class="charts"') :].split("<svg ")[1:]
    assert len(charts) >= 2
    for chart in charts:
        ElementTree.fromstring("<svg " + chart[: chart.index("</svg>") + len("</svg>")])


def test_different_names_stay_different() -> None:
    assert drawable({"a\x01": ["b\u2028", 1, None, "é€😀"]}) == {r"a\u0001": [r"b\u2028", 1, None, "é€😀"]}
    texts = {drawable(text) for text in ("a\x01", "a\x02", "a\ud800", "a")}
    assert len(texts) == 4
    assert len(drawable("x" * 300_000)) == 500


def test_a_crash_costs_one_chart() -> None:
    crashing = json.loads(json.dumps(SPEC).replace('"a"', '"a\\u0001"'))
    with Plotter() as plotter:
        with pytest.raises(NotDrawn, match=r"vl-convert crashed \(signal 6\)"):
            plotter.draw(json.dumps(crashing))
        with pytest.raises(NotDrawn, match="vl-convert reports: "):
            plotter.draw("{")
        assert "<svg" in svg(SPEC, "title", plotter)


def test_a_report_says_which_charts_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "drawable", lambda value: value)
    data = json.dumps(made.bench(1.0)).replace("reduce.sum.float32", "reduce\\u0001")
    (tmp_path / "bench.json").write_text(data)
    write_html(read([tmp_path / "bench.json"]), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "This chart is missing: vl-convert crashed (signal 6). The table has its values." in page
