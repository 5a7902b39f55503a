"""Report in a browser: content, search, links; texts from files are never executed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

sys.path.insert(0, str(Path(__file__).parent))
import sample_runs as made
from browser import CONTRAST, open_browser

from vkgroup.device import Capabilities, Subgroup
from vkgroup.outputs.exports.folder import write_summary
from vkgroup.outputs.report import ReportInputs, html_of, read, write_html
from vkgroup.record.record import Result, Status
from vkgroup.record.run import Run

pytestmark = pytest.mark.slow
"""The browser is no part of the set-up."""

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with everything in it: two runs, two probes, a check, two files of benchmarks."""
    folder = tmp_path_factory.mktemp("report")
    for name, results, driver in (
        ("old", made.old_run(), "made up"),
        ("new", made.new_run(), "made up later"),
    ):
        made.write_run(folder / name, results, driver=driver)
        declared = {"capabilities": made.capabilities(driver)}
        (folder / name / "capabilities.json").write_text(json.dumps(declared))
    (folder / "check.json").write_text(json.dumps(made.check()))
    for name, scale in (("fast", 1.0), ("slow", 1.5)):
        (folder / f"{name}.json").write_text(json.dumps(made.bench(scale)))
    probes = [ROOT / "bench/results" / name / "probe.json" for name in ("swiftshader", "lavapipe-25.0.7")]
    others = [folder / name for name in ("check.json", "fast.json", "slow.json")]
    write_html(read([folder / "old", folder / "new", *probes, *others]), folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def context_page(browser: Browser) -> Iterator[Page]:
    """A page without a network, which keeps what the browser complains of."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(f"{error}\n{error.stack}"))
    page.complaints = complaints  # type: ignore[attr-defined]
    yield page
    context.close()


@pytest.fixture
def page(context_page: Page, report: Path) -> Iterator[Page]:
    """The report, open; a test that leaves anything in the console has failed."""
    context_page.complaints.clear()  # type: ignore[attr-defined]
    open_report(context_page, report)
    yield context_page
    assert context_page.complaints == []  # type: ignore[attr-defined]


def open_report(page: Page, path: Path, fragment: str = "") -> None:
    page.emulate_media(media="screen", color_scheme="light")
    page.goto("about:blank")
    page.goto(path.as_uri() + fragment)
    page.wait_for_selector("html[data-ready]", timeout=20_000)


def test_every_part_is_there_under_its_heading(page: Page) -> None:
    headings = page.locator("main > section:visible > :is(h1, h2)").all_inner_texts()
    assert headings == [
        "Causes of failures",
        "Results",
        "What changed",
        "Conformance",
        "Cases",
        "Shaders checked",
        "Benchmarks",
        "Capabilities",
    ]
    links = page.locator("header nav a")
    assert [link.get_attribute("href") for link in links.all()] == [
        f"#{section.get_attribute('id')}" for section in page.locator("main > section:visible").all()
    ]


def test_the_two_runs_are_compared(page: Page, report: Path) -> None:
    compared = page.locator("#comparison")
    failing, appeared, fixed, others = (compared.locator("details").nth(number) for number in range(4))
    expect(failing.locator("summary")).to_have_text("Newly failing: 2 cases")
    assert made.WRONG in failing.inner_text()
    # A case that only the new run has may fail because the suite is newer: it is shown, and no step back.
    expect(appeared.locator("summary")).to_have_text("Appeared and failing: 1 case")
    expect(appeared.locator("tbody td")).to_have_text(["not in that run", "∞ Timeout"])
    expect(others.locator("summary")).to_have_text("Appeared: 3 cases")
    expect(others.locator("tbody tr")).to_have_count(0)
    others.locator("summary").click()
    expect(others.locator("tbody tr")).to_have_count(3)
    expect(fixed.locator("tbody tr")).to_have_text(f"{made.MENDED}✗ Fail✓ Pass")
    # Both files have the same rows; each is half as slow again, with intervals of 1 %.
    expect(compared.locator(".tiles").last).to_have_text("0 newly wrong6 slower0 faster0 same")
    capabilities = compared.get_by_role("heading", name="Capabilities")
    assert capabilities.all_inner_texts() == [
        "Capabilities: SwiftShader Device (Subzero) → llvmpipe (LLVM 15.0.6, 256 bits)",
        f"Capabilities: SwiftShader Device (Subzero) → A device ({report.parent / 'old'})",
        f"Capabilities: A device ({report.parent / 'old'}) → A device ({report.parent / 'new'})",
    ]


def test_the_map_counts_cases_and_undefined_lanes(page: Page) -> None:
    page.select_option("#run", "1")
    cell = page.get_by_role("link", name="subgroupAdd, stage compute: 1 Fail; 500 lanes judged, 12 undefined")
    expect(cell).to_have_text("✗ 1/1◌ 12")
    cell.click()
    expect(page.locator("#case-count")).to_have_text("1 case of 7")
    assert "operation=subgroupAdd" in page.url
    # What is not supported stays away until it is asked for.
    assert page.locator("#map thead th").all_inner_texts() == ["operation", "fragment", "compute"]
    page.locator("#map select[data-name=columns]").select_option("type")
    expect(page.locator("#map thead th").last).to_have_text("uvec2")
    page.locator("#map").get_by_label("only what the device supports").uncheck()
    page.locator("#map select[data-name=stage]").select_option("mesh")
    expect(page.locator("#map td.lacking")).to_have_count(1)


def test_search_and_filters_narrow_the_cases(page: Page) -> None:
    page.select_option("#run", "1")
    page.locator("#cases summary").click()
    page.get_by_role("button", name="Clear").click()
    count = page.locator("#case-count")
    expect(count).to_have_text("7 cases of 7")
    page.get_by_role("searchbox", name="Search").first.fill("nested UVEC2")
    expect(count).to_have_text("1 case of 7")
    page.get_by_role("searchbox", name="Search").first.fill("")
    page.get_by_label("Status").select_option("T")
    expect(page.locator("#case-list tbody tr")).to_contain_text("subgroupBarrier")
    page.get_by_role("searchbox", name="Search").first.fill("no such case")
    expect(page.locator("#case-list")).to_contain_text("No case matches")
    assert count.get_attribute("role") == "status"


def test_a_filter_is_in_the_address(page: Page, report: Path) -> None:
    open_report(page, report, "#cases=&q=shuffle&status=P&run=1")
    expect(page.locator("#case-list tbody th")).to_have_text(
        "shuffle.compute.subgroupShuffle.uvec2.nested.exact"
    )
    expect(page.locator("#run")).to_have_value("1")


def test_a_link_to_a_case_shows_its_lanes_its_shader_and_its_command(page: Page, report: Path) -> None:
    open_report(page, report, f"#case={made.WRONG}&run=1")
    case = page.get_by_role("dialog", name=made.WRONG)
    expect(case.locator(".lanes figcaption")).to_have_text(
        "workgroup 1 subgroup 2: 4 lanes, active mask 0x7, wrong: lane 1"
    )
    rows = {row.locator("th").inner_text(): row.locator("td") for row in case.locator("tbody tr").all()}
    assert rows["active"].all_inner_texts() == ["1", "1", "1", "0"]
    assert rows["input"].all_inner_texts() == ["5", "6", "7", "·"]
    assert rows["got"].all_inner_texts() == ["18", "99", "18", "·"]
    expect(case.locator("td.wrong")).to_have_text("99")
    expect(case.locator("th.wrong")).to_contain_text("wrong")
    expect(case.locator(".marked")).to_contain_text("subgroupAdd(value_0)")
    expect(case.locator(".command code")).to_have_text(f"vkgroup conform --filter {made.WRONG}")
    # The other run's verdict is one link away, and the way back leads to where one was.
    case.get_by_role("link", name="on A device").click()
    expect(case.locator(".facts")).to_contain_text("Pass")
    page.go_back()
    expect(case.locator(".facts")).to_contain_text("Fail")


def test_failures_of_other_families_are_drawn_in_their_units(context_page: Page, tmp_path: Path) -> None:
    made.write_run(tmp_path / "run", made.other_run())
    path, page = tmp_path / "report.html", context_page
    page.complaints.clear()  # type: ignore[attr-defined]
    write_html(read([tmp_path / "run"]), path)
    open_report(page, path, f"#case={made.MASKED}")
    case = page.get_by_role("dialog")
    expect(case.locator(".sentence")).to_contain_text(
        "In random program 4 with constructs nested up to 2 deep"
    )
    strips = case.locator(".strip").all()
    assert [strip.locator(".name").text_content() for strip in strips] == [
        "active 0x3", "expected 0x3", "got by lane 1 0x6, wrong: 0, 2",
    ]  # fmt: skip
    kinds = [cell.get_attribute("class") for cell in strips[2].locator("i").all()]
    assert kinds == ["wrong inactive", "active", "wrong active", "inactive"]
    heads = [head.inner_text() for head in case.locator("tbody th").all()]
    assert heads == ["active", "invocation", "expected", "got"]
    expect(case.locator(".marked")).to_contain_text("record(2u, subgroupBallot(true));")
    open_report(page, path, f"#case={made.BLOCK}")
    expect(case.locator("figcaption")).to_have_text("words that were read, wrong: invocation 17")
    expect(case.locator("thead th")).to_have_text(["invocation", "16", "17 ✗ wrong"])
    expect(case.locator(".strip")).to_have_count(0)
    expect(case.locator("tr.got td.wrong")).to_have_text("7")
    expect(case.locator(".marked")).to_contain_text("data[nonuniformEXT(i)]")
    # Without lanes all words are there at once, and what the name says is marked in the shader.
    open_report(page, path, f"#case={made.WORDS_ALONE}")
    assert case.locator(".words").inner_text() == "cell 0\ncell 1"
    expect(case.locator(".lanes")).to_have_count(0)
    expect(case.locator(".command code")).to_have_text(f"vkgroup {made.WORDS_ALONE}")
    expect(case.locator(".marked").first).to_contain_text("atomicAdd(")
    assert page.complaints == []  # type: ignore[attr-defined]


def test_an_unknown_case_says_so(page: Page, report: Path) -> None:
    open_report(page, report, "#case=no.such.case")
    expect(page.get_by_role("dialog")).to_contain_text("No run in this report has a case of that name")


def test_the_keyboard_reaches_everything(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the results")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.locator("#causes summary").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text(made.MENDED)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("heading").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert "case=" not in page.url.partition("#")[2].replace("cases=", "")


def test_tables_and_controls_have_names(page: Page) -> None:
    assert page.locator("table:not(:has(caption))").count() == 0
    assert (
        page.evaluate(
            "[...document.querySelectorAll('input, select')].filter(control => !control.labels.length).length"
        )
        == 0
    )
    assert (
        page.evaluate(
            "[...document.querySelectorAll('thead th')].filter(head => !head.hasAttribute('scope')).length"
        )
        == 0
    )


def test_capabilities_stand_side_by_side(page: Page) -> None:
    section = page.locator("#capabilities")
    size = section.get_by_role("row", name="size ≠ differs", exact=False).first
    assert [text.strip() for text in size.locator("td").all_inner_texts()][:2] == ["4", "8"]
    before = section.locator("tbody tr").count()
    section.get_by_label("only what differs").check()
    assert 0 < section.locator("tbody tr").count() < before
    section.get_by_role("searchbox").fill("clustered")
    expect(section.locator("tbody tr", has_text="operations lacking")).to_be_visible()


def test_findings_quote_their_lines(page: Page) -> None:
    finding = page.locator(".finding")
    expect(finding.locator("h4")).to_contain_text("two write the same place")
    expect(finding.locator(".quote").first).to_contain_text("a.comp:3")
    expect(finding.locator(".command code")).to_have_text("vkgroup check a.comp --subgroup-size 8")


def test_charts_have_words_for_every_point(page: Page) -> None:
    titles = page.locator("#benchmarks figcaption strong").all_inner_texts()
    assert titles[:3] == [
        "Subgroup against shared memory and others",
        "Share of the ceiling",
        "Cost by size: reduce.sum.float32",
    ]
    points = page.locator("#benchmarks svg").first.locator("path[aria-label]").all()
    words = [point.get_attribute("aria-label") for point in points]
    assert (
        "reduce.sum.float32 · 2¹⁴: shared takes 2 times the subgroup version's time (from 1.9 to 2.1)"
        in words
    )
    page.locator("#benchmarks summary").first.click()
    expect(page.locator("#benchmarks tbody tr")).to_have_count(6)


def contrast(page: Page, selector: str) -> float:
    """Return the contrast of an element's text with what is behind it (WCAG 2.2)."""
    return float(page.locator(selector).first.evaluate(CONTRAST))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    for selector in ("main p", "main a", ".badge.fail", ".tiles .pass", ".tiles .undefined", ".faint"):
        assert contrast(page, selector) >= 4.5, selector


def test_paper_has_every_kind_of_failure_and_no_controls(page: Page) -> None:
    page.select_option("#run", "1")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#causes details.cause[open] > dl").count() == 3
    expect(page.locator("#causes .lanes")).to_be_visible()
    expect(page.locator("#causes .source .marked").first).to_be_visible()
    assert page.locator(".controls:visible, header.top:visible, button:not(.sort):visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_markup_in_names_and_texts_stays_text(context_page: Page, tmp_path: Path) -> None:
    markup = made.MARKUP
    hostile = [
        made.Result(
            f"vote.compute.{markup}", made.Status.FAIL, detail=f"{markup}\n{markup}\nrepeat: {markup}"
        ),
        made.Result(
            made.WRONG,
            made.Status.FAIL,
            detail=markup,
            evidence={**made.EVIDENCE, "where": markup, "rows": {"got": [markup] * 4}},
        ),
        made.Result("a\ud800b", made.Status.PASS, detail=markup),
    ]
    made.write_run(tmp_path / "run", hostile, device=markup)
    (tmp_path / "check.json").write_text(json.dumps({**made.check(markup), "shader": markup}))
    bench = made.bench(1.0, device=markup)
    for row in bench["benchmarks"]:
        row["run_name"] = row["run_name"].replace("reduce.sum.float32", markup.replace("/", "|"))
    (tmp_path / "bench.json").write_text(json.dumps(bench))
    write_html(
        read([tmp_path / "run", tmp_path / "check.json", tmp_path / "bench.json"]), tmp_path / "r.html"
    )
    open_report(context_page, tmp_path / "r.html")
    context_page.locator("#cases summary").click()
    for summary in context_page.locator("#causes .source summary").all():
        summary.click()
    assert context_page.evaluate("window.hacked") is None
    assert context_page.locator("img").count() == 0
    assert context_page.locator("#summary h2").inner_text() == markup
    assert context_page.locator("script").count() == 2


def test_sixty_thousand_cases_open_in_three_seconds(context_page: Page, tmp_path: Path) -> None:
    made.write_run(tmp_path / "run", made.big_run(60_000))
    write_html(read([tmp_path / "run"]), tmp_path / "big.html")
    seconds = []
    for _ in range(3):  # The quickest of three, for the machine may be busy with something else.
        context_page.goto("about:blank")
        start = time.perf_counter()
        open_report(context_page, tmp_path / "big.html")
        context_page.locator("#cases summary").click()
        expect(context_page.locator("#case-count")).to_have_text("600 cases of 60,000")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 3
    context_page.get_by_label("Status").select_option("")
    context_page.get_by_role("searchbox").first.fill("n59999")
    expect(context_page.locator("#case-count")).to_have_text("1 case of 60,000")
    expect(context_page.locator("#case-list tbody th")).to_contain_text("n59999")
    # However many there are, the page stays small.
    context_page.get_by_role("searchbox").first.fill("")
    expect(context_page.locator("#case-count")).to_have_text("60,000 cases of 60,000")
    assert context_page.locator("*").count() < 5000
    context_page.locator("#case-list").get_by_role("button", name="Last").click()
    expect(context_page.locator("#case-list tbody tr")).to_have_count(100)
    assert (tmp_path / "big.html").stat().st_size < 2_000_000


def test_long_names_and_details_do_not_freeze_the_table(context_page: Page, tmp_path: Path) -> None:
    text = "x" * 300_000
    cases = [
        made.Result(f"vote.compute.{n}{text}", made.Status.PASS, detail=f"{n}{text}") for n in range(100)
    ]
    made.write_run(tmp_path / "run", cases)
    write_html(read([tmp_path / "run"]), tmp_path / "r.html")
    started = time.perf_counter()
    open_report(context_page, tmp_path / "r.html", "#cases")
    context_page.locator("table.cases tbody tr").first.wait_for()
    assert time.perf_counter() - started < 10
    more = context_page.locator("table.cases td.note button").first
    expect(more).to_have_text("… show all 300,001 characters")
    more.click()
    assert len(context_page.locator("table.cases td.note").first.inner_text()) == 300_001


def test_nothing_runs_or_loads_but_the_page_s_own(tmp_path: Path) -> None:
    text = html_of(ReportInputs())
    assert "default-src &#x27;none&#x27;" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/", "")


def test_causes_come_first_and_failures_link_to_them(context_page: Page, tmp_path: Path) -> None:
    made.write_run(tmp_path / "run", made.new_run())
    path, page = tmp_path / "report.html", context_page
    write_html(read([tmp_path / "run"]), path)
    open_report(page, path, f"#case={made.WRONG}")
    case = page.get_by_role("dialog")
    expect(case.get_by_text("Required", exact=True)).to_be_visible()
    expect(case.locator(".verdict .words")).to_have_text("1 of 512 active lanes are wrong")
    case.locator(".its-cause a").click()
    cause = page.locator(".cause:focus")
    expect(cause).to_contain_text(made.WRONG)
    expect(cause.locator(".tag")).to_have_text("new")
    # The summary takes the focus.
    cause = page.locator(f"#{cause.get_attribute('id')}")
    expect(cause.get_by_role("link", name=made.WRONG)).to_be_visible()


def _write_summary_alone(folder: Path, results: list[Result]) -> None:
    device = Capabilities(name="A device", type="cpu", driver_name=folder.name, subgroup=Subgroup(size=4))
    folder.mkdir()
    write_summary(Run(device, 0, 1, "2026-01-01T00:00:00+00:00", results), folder / "summary.json")


def test_a_summary_alone_shows_causes_and_names_what_is_missing(context_page: Page, tmp_path: Path) -> None:
    for name, results in (("old", made.old_run()), ("new", made.new_run())):
        _write_summary_alone(tmp_path / name, results)
    path, page = tmp_path / "report.html", context_page
    write_html(read([tmp_path / "old", tmp_path / "new"]), path)
    open_report(page, path)
    headings = page.locator("main > section:visible > :is(h1, h2)").all_inner_texts()
    assert headings == ["Causes of failures", "Results", "Capabilities"]
    missing = page.locator("#summary .notice", has_text="without results.jsonl the report has no map")
    expect(missing).to_have_count(2)
    expect(page.locator("#causes p.count")).to_have_text("1 new cause; 1 failed case")
    page.select_option("#run", "1")
    expect(page.locator("#causes p.count")).to_have_text("3 new causes; 3 failed cases")
    cause = page.locator(".cause", has_text=made.WRONG)
    expect(cause.locator("table")).to_contain_text("99")
    cause.get_by_role("link", name=made.WRONG).click()
    case = page.get_by_role("dialog")
    expect(case.locator(".its-cause")).to_be_visible()
    expect(case.locator(".source")).to_contain_text("subgroupAdd")


def test_a_run_with_cases_beside_a_summary_alone(context_page: Page, tmp_path: Path) -> None:
    made.write_run(tmp_path / "whole", made.new_run())
    _write_summary_alone(tmp_path / "summary", made.old_run())
    path, page = tmp_path / "report.html", context_page
    write_html(read([tmp_path / "summary", tmp_path / "whole"]), path)
    open_report(page, path)
    whole = ["Causes", "Results", "Conformance", "Cases", "Capabilities"]
    assert page.locator("#sections a:visible").all_inner_texts() == whole
    page.select_option("#run", "0")
    assert page.locator("#sections a:visible").all_inner_texts() == ["Causes", "Results", "Capabilities"]
    expect(page.locator("#cases")).to_be_hidden()
    page.select_option("#run", "1")
    assert page.locator("#sections a:visible").all_inner_texts() == whole
    page.locator("#cases summary").click()
    expect(page.locator("#case-count")).to_have_text("3 cases of 7")


def test_a_run_that_only_compiled_has_its_own_statuses(context_page: Page, tmp_path: Path) -> None:
    compiled = [
        Result(f"arithmetic.compute.subgroupAdd.uint.all.case{number}", Status.COMPILED)
        for number in range(3)
    ]
    rejected = Result("arithmetic.compute.subgroupXor.bool.all", Status.REJECTED, detail="u2u1")
    made.write_run(tmp_path / "run", [*compiled, rejected])
    path, page = tmp_path / "report.html", context_page
    write_html(read([tmp_path / "run"]), path)
    open_report(page, path)
    card = page.locator("#summary .card")
    expect(card.locator(".tiles")).to_contain_text("3 Compiled")
    expect(card.locator(".tiles")).to_contain_text("1 Rejected")
    expect(card.locator(".tiles")).not_to_contain_text("Pass")
    expect(card).to_contain_text("4 cases; nothing was executed")
    cells = page.locator("#map td.pass, #map td.fail")
    assert sorted(cells.all_inner_texts()) == ["✓ 3", "✗ 1/1"]
