"""Static costs in a report: data for the page, and bars in a browser."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

sys.path.insert(0, str(Path(__file__).parent))
import sample_runs as made
from browser import open_page

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.main import main
from vkgroup.cost import CompileStatus, Cost
from vkgroup.outputs.history import CostFile
from vkgroup.outputs.report import costs, read, write_html


def cost(device: str, size: int, registers: float, **fields: Any) -> dict[str, Any]:
    """Return the cost of a shader with a number of registers and as many waves."""
    quantities = {"vector_registers": registers, "spills": 0.0, "waves": registers}
    found = Cost(device, "A GPU", size, CompileStatus.COMPILED, quantities=quantities, **fields)
    return found.to_json()


def rejected(device: str, detail: str) -> dict[str, Any]:
    """Return the cost of a shader that a driver rejected."""
    return Cost(device, "A GPU", 64, CompileStatus.REJECTED, detail).to_json()


def entry(name: str = "a.comp") -> dict[str, Any]:
    """Return what ``vkgroup cost --against`` writes for one shader: four devices of three drivers."""
    return {
        "shader": name,
        "against": "b.comp",
        "costs": [
            cost("radv-26.1.6:navi31", 32, 48.0, kinds={"DPP": 8}),
            cost("radv-26.1.6:navi31", 64, 24.0),
            cost("nvk-26.1.6:ga104", 32, 200.0),
            rejected("turnip-26.1.6:740", "out of registers"),
            cost("0", 32, 10.0),
        ],
        "against_costs": [
            cost("radv-26.1.6:navi31", 32, 96.0),
            rejected("radv-26.1.6:navi31", "an assertion failed"),
            cost("nvk-26.1.6:ga104", 32, 100.0),
            rejected("turnip-26.1.6:740", "out of registers"),
        ],
    }


def test_devices_are_grouped_by_driver() -> None:
    shown = costs.to_json(CostFile(Path("cost.json"), entry()))
    assert [driver["name"] for driver in shown["drivers"]] == [
        "AMD (RADV)",
        "NVIDIA (NVK)",
        "Qualcomm (Turnip)",
        "A GPU",
    ]
    radv = shown["drivers"][0]
    assert radv["versions"] == ["radv-26.1.6"]
    registers = next(one for one in radv["quantities"] if one["title"] == "vector registers")
    assert registers == {
        "title": "vector registers",
        "unit": "VGPRs",
        "more_is_better": False,
        "most": 96.0,
    }
    assert radv["quantities"][-1]["more_is_better"]
    first, second = radv["rows"]
    assert (first["gpu"], first["generation"], first["size"]) == ("navi31", "RDNA 3", 32)
    assert [side["values"][0] for side in first["sides"]] == [48.0, 96.0]
    assert [side["status"] for side in second["sides"]] == ["", "Rejected"]


def test_rows_of_a_gpu_with_several_versions_name_the_version() -> None:
    both = [cost("radv-25.0.7:navi31", 32, 50.0), cost("radv-26.1.6:navi31", 32, 48.0)]
    radv = costs.to_json(CostFile(Path("cost.json"), {"shader": "a.comp", "costs": both}))["drivers"][0]
    assert [row["gpu"] for row in radv["rows"]] == ["navi31 (radv-25.0.7)", "navi31 (radv-26.1.6)"]
    assert [row["generation"] for row in radv["rows"]] == ["RDNA 3", "RDNA 3"]
    assert radv["versions"] == ["radv-25.0.7", "radv-26.1.6"]


def test_a_file_of_costs_is_recognized_by_its_content(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "any.json").write_text(json.dumps([entry("a.comp"), entry("c.comp")]))
    assert [str(file.data["shader"]) for file in read([tmp_path]).costs] == ["a.comp", "c.comp"]
    assert main(["report", str(tmp_path / "any.json"), "-o", str(tmp_path / "r.html")]) == 0
    assert "2 costs" in capsys.readouterr().out


def test_damaged_costs_are_refused(tmp_path: Path) -> None:
    broken = entry()
    broken["costs"][0]["subgroup_size"] = "many"
    (tmp_path / "any.json").write_text(json.dumps([broken]))
    with pytest.raises(InvalidInput, match=r"any\.json: .*subgroup_size"):
        write_html(read([tmp_path / "any.json"]), tmp_path / "r.html")
    (tmp_path / "any.json").write_text("[1, 2]")
    with pytest.raises(InvalidInput, match="is no run"):
        read([tmp_path / "any.json"])


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_page() as opened:
        yield opened


def show(page: Page, folder: Path, data: list[dict[str, Any]]) -> None:
    """Write a report on costs and open it."""
    (folder / "cost.json").write_text(json.dumps(data))
    write_html(read([folder / "cost.json"]), folder / "r.html")
    page.goto((folder / "r.html").as_uri())
    page.wait_for_selector("html[data-ready]")


@pytest.mark.slow
def test_bars_are_as_long_as_their_numbers_in_each_table(page: Page, tmp_path: Path) -> None:
    show(page, tmp_path, [entry()])
    tables = page.locator("table.costs")
    assert tables.count() == 4
    cell = tables.nth(0).locator("tbody tr").first.locator("td").nth(1)
    assert cell.inner_text().split() == ["48", "96"]
    short, long = (bar.bounding_box() for bar in cell.locator(".bar").all())
    assert short is not None
    assert long is not None
    assert short["width"] == pytest.approx(long["width"] / 2, abs=1)
    # The longest bar of another driver is as long as its column, although its number is another.
    nvidia = tables.nth(1).locator("tbody tr").first.locator("td").nth(1).locator(".measure").first
    box, bar = nvidia.bounding_box(), nvidia.locator(".bar").bounding_box()
    assert box is not None
    assert bar is not None
    assert bar["width"] == pytest.approx(box["width"], abs=1)
    # A driver that rejects both shaders says so once.
    assert tables.nth(2).locator("tbody .badge").all_inner_texts() == ["Rejected"]
    assert tables.nth(0).locator("tbody .badge").all_inner_texts() == ["Rejected"]


@pytest.mark.slow
def test_a_narrow_page_scrolls_its_tables_only(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    show(page, tmp_path, [entry()])
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.slow
def test_markup_in_costs_stays_text(page: Page, tmp_path: Path) -> None:
    markup = made.MARKUP
    data = entry(markup) | {"against": markup}
    data["costs"][0] |= {"device": markup, "gpu": markup, "kinds": {markup: 1}}
    data["costs"][3]["detail"] = markup
    show(page, tmp_path, [data])
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("#costs h3").inner_text() == markup
    assert markup in page.locator("table.costs").first.inner_text()
