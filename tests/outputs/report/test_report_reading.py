"""Reading a report: verdicts at the top, order of tables, coloured shaders, narrow screens."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

sys.path.insert(0, str(Path(__file__).parent))
import sample_runs as made
from browser import CONTRAST, open_page
from test_report_costs import entry

from vkgroup.outputs.highlight import encoded, highlighted
from vkgroup.outputs.report import read, write_html
from vkgroup.outputs.report.failures import Failures
from vkgroup.record.record import Result, Status

RESULTS = Path(__file__).parents[3] / "bench/results"
WIDE = "arithmetic.compute.subgroupMin.uint.all.exact"
KNOWN = RESULTS / "swiftshader/summary.json"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_page() as opened:
        yield opened


def show(page: Page, paths: list[Path], folder: Path, fragment: str = "") -> None:
    """Write a report and open it."""
    write_html(read(paths), folder / "r.html")
    page.goto("about:blank")
    page.goto((folder / "r.html").as_uri() + fragment)
    page.wait_for_selector("html[data-ready]")


def everything(folder: Path) -> list[Path]:
    """Write inputs for every section of a report."""
    lanes = {
        "size": 16,
        "active": "0xffff",
        "wrong": list(range(16)),
        "rows": {"got": [str(lane) for lane in range(1000, 1016)]},
    }
    wide = Result(WIDE, Status.FAIL, 0.1, 512, detail="A sentence.", evidence={**made.EVIDENCE, **lanes})
    for name, results in (("old", [*made.old_run(), wide]), ("new", [*made.new_run(), *made.other_run()])):
        made.write_run(folder / name, results, driver=f"driver of the {name} run, with a long name")
    documents: dict[str, Any] = {
        "check": made.check("a message " * 20),
        "fast": made.bench(1.0),
        "slow": made.bench(1.5),
        "cost": [entry("a/folder/with/a/long/name/" * 3 + "a.comp")],
    }
    for name, data in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(data))
    return [folder / "old", folder / "new", *(folder / f"{name}.json" for name in documents), KNOWN]


def one_operation() -> list[Result]:
    """A run of one operation that fails in one stage, with 9 failures of 30 cases."""
    names = [
        f"arithmetic.{stage}.subgroupAdd.{kind}.{active}.exact"
        for stage in ("compute", "fragment")
        for kind in ("uint", "int", "float", "uvec2", "vec3")
        for active in ("all", "nested", "half")
    ]
    failing = {
        name for name in names if ".compute." in name and name.split(".")[3] in ("uint", "int", "uvec2")
    }
    return [
        Result(
            name, Status.FAIL, 0.1, 500, 12, f"A sentence.\n1 lane is wrong\nrepeat: {name}", made.EVIDENCE
        )
        if name in failing
        else Result(name, Status.PASS, 0.1, 512)
        for name in names
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("results", "summary", "expected"),
    [
        (made.old_run()[:1], {}, "✓ Passed driver 1 · Vulkan 1.4.3 · A device: 1 passed"),
        (
            made.new_run(),
            {},
            "✗ Failed driver 1 · Vulkan 1.4.3 · A device: 2 passed, 3 failed (3 new causes), 1 undefined, "
            "1 not supported",
        ),
        (made.new_run()[5:6], {}, "– Nothing tested driver 1 · Vulkan 1.4.3 · A device: 1 not supported"),
        (
            made.old_run()[:1],
            {"missing": 2, "without_verdict": {"a": "error"}, "not_run": [{"count": 3}]},
            "◌ Incomplete driver 1 · Vulkan 1.4.3 · A device: 1 passed, 6 without a verdict",
        ),
        (
            made.old_run()[:1],
            {"minimum_promises_broken": ["size"]},
            "✗ Failed driver 1 · Vulkan 1.4.3 · A device: 1 passed, 1 broken promise of Vulkan",
        ),
        (
            [Result("a.compute.b", Status.COMPILED)],
            {},
            "✓ Compiled driver 1 · Vulkan 1.4.3 · A device: 1 compiled",
        ),
    ],
    ids=["passed", "failed", "nothing", "incomplete", "promise", "compiled"],
)
def test_the_verdict_of_a_run_is_the_first_line(
    page: Page, tmp_path: Path, results: list[Result], summary: dict[str, Any], expected: str
) -> None:
    folder = made.write_run(tmp_path / "run", results, driver="driver 1")
    written = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**written, "api_version": "1.4.3", **summary}))
    show(page, [folder], tmp_path)
    assert page.locator("main").inner_text().splitlines()[0] == expected


@pytest.mark.slow
def test_every_kind_of_input_has_a_verdict(page: Page, tmp_path: Path) -> None:
    show(page, everything(tmp_path), tmp_path)
    lines = page.locator("#verdicts li").all_inner_texts()
    assert [line.split(" ", 2)[:2] for line in lines[:2]] == [["✗", "Failed"]] * 2
    assert "◌ Known errors only SwiftShader driver · Vulkan 1.3.0" in lines[2]
    assert lines[3:6] == [
        "✗ Findings a.comp: 1 finding",
        "Benchmarks A device: 6 times",
        f"▼ Slower A device: 6 times, 6 slower, 0 faster than {tmp_path / 'fast.json'}",
    ]
    assert lines[6].startswith("✗ Rejected a/folder")
    assert len(lines) == 7
    nothing = {**made.check(), "findings": []}
    (tmp_path / "check.json").write_text(json.dumps(nothing))
    show(page, [tmp_path / "check.json"], tmp_path)
    expect(page.locator("#verdicts li")).to_have_text("✓ Nothing found a.comp: no finding")
    show(page, [RESULTS / "swiftshader/probe.json"], tmp_path)
    expect(page.locator("#verdicts li")).to_have_text(
        "Capabilities SwiftShader Device (Subzero): nothing was tested"
    )


@pytest.mark.slow
def test_new_causes_are_open_and_known_ones_closed(page: Page, tmp_path: Path) -> None:
    made.write_run(tmp_path / "run", made.new_run())
    show(page, [tmp_path / "run", KNOWN], tmp_path)
    causes = page.locator("details.cause")
    expect(causes).to_have_count(3)
    assert [cause.get_attribute("open") for cause in causes.all()] == [""] * 3
    page.select_option("#run", "1")
    expect(page.locator("#cause-1-0")).to_contain_text("known since")
    assert {cause.get_attribute("open") for cause in causes.all()} == {None}
    # A link to a cause opens it.
    page.evaluate("location.hash = '#cause=1&run=1'")
    expect(causes.nth(1).locator("dl")).to_be_visible()
    expect(causes.nth(0).locator("dl")).to_have_count(0)


@pytest.mark.slow
def test_failures_are_shown_once(page: Page, tmp_path: Path) -> None:
    made.write_run(tmp_path / "run", one_operation())
    show(page, [tmp_path / "run"], tmp_path)
    text = page.locator("main").inner_text()
    assert "1 lane is wrong" in text
    # One case stands for the others of its cause.
    names = [result.case for result in one_operation() if result.status is Status.FAIL]
    assert sum(name in text for name in names) == 1
    assert page.locator(".lanes").count() == 1
    assert page.evaluate("document.documentElement.scrollHeight") < 2300
    page.locator("#cases summary").click()
    expect(page.locator("#case-count")).to_have_text("9 cases of 30")


def column(table: Locator, index: int) -> list[str]:
    """Return the texts of a column, the heads of rows included."""
    return [row.locator("th, td").nth(index).inner_text() for row in table.locator("tbody tr").all()]


@pytest.mark.slow
def test_cases_are_sorted_over_all_pages(page: Page, tmp_path: Path) -> None:
    made.write_run(tmp_path / "run", made.big_run(700))
    show(page, [tmp_path / "run"], tmp_path, "#cases=&q=all")
    table = page.locator("table.cases")
    before = column(table, 1)
    head = table.get_by_role("columnheader", name="case")
    assert head.get_attribute("aria-sort") is None
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    # Numbers in names are compared as numbers.
    assert column(table, 1)[:2] == [
        "arithmetic.compute.operation0.uint.all.exact.n0",
        "arithmetic.compute.operation0.uint.all.exact.n20",
    ]
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(table, 1)[0] == "arithmetic.compute.operation19.uint.all.exact.n699"
    undefined = table.get_by_role("columnheader", name="undefined")
    undefined.get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None
    assert set(column(table, 3)) == {"0"}
    undefined.get_by_role("button").click()
    assert set(column(table, 3)) == {"6"}
    page.locator("#case-list").get_by_role("button", name="Last").click()
    assert set(column(table, 3)) == {"0"}
    undefined.get_by_role("button").click()
    assert undefined.get_attribute("aria-sort") is None
    assert column(table, 1) == before


@pytest.mark.slow
def test_times_costs_and_capabilities_are_sorted_by_their_values(page: Page, tmp_path: Path) -> None:
    show(page, [*everything(tmp_path), RESULTS / "lavapipe-25.0.7/probe.json"], tmp_path)
    page.locator("#benchmarks summary").first.click()
    times = page.locator("#benchmarks table").first
    times.get_by_role("button", name="time", exact=True).click()
    assert column(times, 2) == ["1.024 µs", "2.048 µs", "4.096 µs", "8.192 µs", "16.38 µs", "32.77 µs"]
    # Rows without a value are last in both directions.
    ratio = times.get_by_role("button", name="÷ subgroup's time")
    for _ in range(2):
        ratio.click()
        assert column(times, 5) == ["2.00"] * 3 + [""] * 3
    costs = page.locator("table.costs").first
    costs.get_by_role("button", name="vector registers").click()
    assert column(costs, 1) == ["64", "32"]
    capabilities = page.locator("table.capabilities").nth(1)
    capabilities.get_by_role("button", name="name", exact=True).click()
    names = [text.removesuffix("≠ differs").strip() for text in column(capabilities, 0)]
    assert names == sorted(names)
    assert len(names) > 10


def test_lines_of_shaders_are_stored_once_with_their_colours(tmp_path: Path) -> None:
    inputs = read([made.write_run(tmp_path / "run", one_operation())])
    failures = Failures()
    run = inputs.runs[0]
    found = failures.of(run, [result for result in run.results or () if result.status is Status.FAIL], inputs)
    failures.close()
    texts = failures.texts()
    assert len(found) == 9
    assert (
        len(texts["lines"])
        == len(texts["colours"])
        == len(set(zip(texts["lines"], texts["colours"], strict=True)))
    )
    assert len(texts["lines"]) < 100 < sum(map(len, texts["shaders"]))


def test_lengths_of_pieces_are_those_of_javascript() -> None:
    (line,) = highlighted('a 12 "😀" b', "spirv")
    assert encoded(line) == ('a 12 "😀" b', "-2n3s5")
    assert encoded([]) == ("", "")


CONTRASTS = f"""spans => Object.fromEntries(spans.map(span =>
  [`${{span.className}} ${{span.closest(".marked") ? "marked" : ""}}`, ({CONTRAST})(span)]))"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_shaders_stand_out(page: Page, tmp_path: Path, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    made.write_run(tmp_path / "run", made.new_run())
    show(page, [tmp_path / "run"], tmp_path, f"#case={made.WRONG}")
    shader = page.get_by_role("dialog").locator(".shader")
    expect(shader.locator(".marked .code-b")).to_have_text(["subgroupAdd"])
    # All classes on both grounds, whether this shader has them or not.
    shader.locator("code").evaluate("""code => {
      for (const line of code.querySelectorAll(".line")) {
        for (const kind of "ktncsb") {
          line.append(Object.assign(document.createElement("span"), { className: `code-${kind}` }));
        }
      }
    }""")
    contrasts = shader.locator("[class^=code-]").evaluate_all(CONTRASTS)
    assert len(contrasts) == 12
    assert {kind: value for kind, value in contrasts.items() if value < 4.5} == {}
    page.emulate_media(color_scheme="light")


@pytest.mark.slow
def test_the_text_of_a_coloured_shader_is_its_source(page: Page, tmp_path: Path) -> None:
    made.write_run(tmp_path / "run", made.new_run())
    show(page, [tmp_path / "run"], tmp_path, f"#case={made.WRONG}")
    lines = page.evaluate("""() => { const data = JSON.parse(document.getElementById("data").textContent);
      return data.shaders[0].map((line) => data.lines[line]); }""")
    shown = page.get_by_role("dialog").locator(".line").evaluate_all(
        "lines => lines.map(line => [...line.childNodes].slice(2).map(node => node.textContent).join(''))"
    )  # fmt: skip
    assert shown == [f"{line}\n" for line in lines]


@pytest.mark.slow
def test_a_page_with_every_section_fits_a_phone(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    show(page, everything(tmp_path), tmp_path)
    assert page.locator("main > section:visible").count() == 9
    # What is folded must fit too.
    for _ in range(2):
        page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
        page.wait_for_timeout(50)
    assert page.locator("#case-list tbody tr").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    sizes = page.locator("#benchmarks svg text").evaluate_all(
        "texts => texts.map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )
    assert min(sizes) >= 11
    edges = page.locator("#benchmarks svg text").evaluate_all(
        "texts => texts.map(text => [text.getBoundingClientRect().left, text.getBoundingClientRect().right])"
    )
    assert all(left >= 0 and right <= 390 for left, right in edges)
    # A case covers the page.
    page.evaluate(f"location.hash = '#case={WIDE}&run=0'")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})
