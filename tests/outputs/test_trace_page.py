"""The page of a trace in a browser: steps, lanes, memory with its writers, the two accesses of a finding."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from vkgroup.cli.main import main

sys.path.insert(0, str(Path(__file__).parent / "report"))
from browser import open_browser

pytestmark = pytest.mark.slow
"""The browser is no part of the set-up."""

RACE = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint parts[32];
void main() {
    uint value = values[gl_GlobalInvocationID.x];
    if (gl_LocalInvocationID.x % 4u == 1u) {
        value += 100u;
    }
    uint sum = subgroupAdd(value);
    if (subgroupElect()) parts[gl_SubgroupID] = sum;
    uint total = parts[(gl_SubgroupID + 1u) % gl_NumSubgroups];
    barrier();
    sums[gl_GlobalInvocationID.x] = total;
}
"""
BRANCH, WRITE, READ = 10, 14, 15
"""Lines of the branch, and of the two accesses that race."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def opened(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page without a network, in a folder with the shader; the browser must complain of nothing."""
    monkeypatch.chdir(tmp_path)
    Path("race.comp").write_text(RACE)
    np.save("values.npy", np.arange(64, dtype=np.uint32))
    with browser.new_context(offline=True, viewport={"width": 1400, "height": 1000}) as context:
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        yield page
        assert complaints == []


def show(page: Page, *words: str) -> None:
    """Run a command that writes trace.html, and open it."""
    main([*words, "--trace", "trace.html"])
    page.goto(Path("trace.html").absolute().as_uri())
    page.wait_for_function("document.documentElement.dataset.ready === 'yes'")


RUN = ("run", "race.comp", "--groups", "2", "--in", "Values=values.npy", "--out", "Sums=uint[64]:s.npy")


def line(page: Page) -> int:
    match = re.search(r"line (\d+)", page.inner_text("#where"))
    assert match is not None
    return int(match[1])


def values_of(page: Page) -> list[str]:
    """Return what each lane shows."""
    texts: list[str] = page.locator("#grid .cell").evaluate_all(
        "cells => cells.map(cell => cell.lastChild.data)"
    )
    return texts


def test_it_begins_at_the_finding_and_leads_to_the_first_access(opened: Page) -> None:
    show(opened, "check", "race.comp", "--subgroup-size", "8", "--device", "none")
    expect(opened.locator("#finding .kind")).to_have_text("race: ")
    expect(opened.locator("#where .event")).to_have_text("The second access of the race")
    who = opened.inner_text("#who")
    assert re.fullmatch(
        r"Here: subgroup \d lane \d reads parts\[\d\] in line 15; subgroup \d lane 0 writes it in line 14,"
        r" \d+ steps before\.",
        who,
    )
    both = [line(opened)]
    expect(opened.locator("#grid .cell.blame")).to_have_count(1)
    expect(opened.locator(".element.blame")).to_have_count(1)
    blamed = opened.inner_text(".element.blame b")
    opened.keyboard.press("o")
    both.append(line(opened))
    assert both == [READ, WRITE]
    assert opened.inner_text(".element.blame b") == blamed
    marked = opened.locator(".code .marked .n").all_inner_texts()
    assert sorted(map(int, marked)) == [WRITE, READ]
    assert f"line {both[1]}" in who
    assert opened.inner_text("#lane-head").split(",")[0] in who
    opened.keyboard.press("f")
    assert line(opened) == both[0]
    opened.locator("#elements .element").first.click()
    assert line(opened) == WRITE
    opened.locator(".code div").nth(BRANCH - 1).click()
    assert line(opened) == BRANCH


def test_keys_and_buttons_lead_through_all_steps(opened: Page) -> None:
    show(opened, *RUN, "--device", "reference:8")
    opened.keyboard.press("Home")
    last = int(opened.get_attribute("#slider", "max") or 0)
    seen = []
    for _ in range(last):
        seen.append(opened.inner_text("#where"))
        opened.keyboard.press("ArrowRight")
    assert len({text.split(",")[0] for text in seen}) == last
    assert opened.input_value("#slider") == str(last)
    for text in reversed(seen):
        opened.click("#back")
        assert opened.inner_text("#where") == text
    lines = [line(opened)]
    while opened.input_value("#slider") != str(last):
        opened.keyboard.press("ArrowDown")
        lines.append(line(opened))
    assert all(one != other for one, other in pairwise(lines[:-1]))
    assert {9, BRANCH, 11, 13, WRITE, READ, 16, 17} <= set(lines)
    opened.keyboard.press("Home")
    opened.keyboard.press("b")
    assert "OpControlBarrier" in opened.inner_text("#where")


def test_lanes_diverge_and_reconverge(opened: Page) -> None:
    show(opened, *RUN, "--device", "reference:16")
    opened.keyboard.press("Home")
    while "OpBranchConditional" not in opened.inner_text("#where"):
        opened.keyboard.press("ArrowRight")
    assert line(opened) == BRANCH
    expect(opened.locator("#where")).to_contain_text(
        "lanes of subgroup 0 diverge: true in 1, 5, 9, 13, false in 0, 2–4, 6–8, 10–12, 14–15"
    )
    opened.keyboard.press("ArrowRight")
    expect(opened.locator("#grid .cell.active")).to_have_count(8)
    expect(opened.locator("#grid .cell.waiting")).to_have_count(24)
    while opened.locator("#grid .cell.active").count() == 8:
        opened.keyboard.press("ArrowRight")
    expect(opened.locator("#where")).to_contain_text(
        "lanes 0, 2–4, 6–8, 10–12, 14–15 of subgroup 0; 0, 2–4, 6–8, 10–12, 14–15 of subgroup 1 reconverge"
    )


def test_values_and_memory_are_those_of_the_step(opened: Page) -> None:
    show(opened, *RUN, "--device", "reference:8", "--workgroup", "1")
    expect(opened.locator("#finding")).to_contain_text("Workgroup (1, 0, 0)")
    opened.select_option("#watch", "value")
    opened.keyboard.press("End")
    values = [int(text) for text in values_of(opened)]
    assert values == [32 + lane + 100 * (lane % 4 == 1) for lane in range(32)]
    opened.select_option("#memories", label="parts (shared memory)")
    elements = opened.locator("#elements .element").all_inner_texts()
    sums = [sum(values[8 * part : 8 * part + 8]) for part in range(4)]
    assert [text.split()[1] for text in elements] == [str(total) for total in sums]
    assert all(f"subgroup {part} lane 0, line {WRITE}" in text for part, text in enumerate(elements))
    opened.keyboard.press("Home")
    texts = opened.locator("#elements .element").all_inner_texts()
    assert all("never written so far" in text for text in texts)
    opened.keyboard.press("End")
    opened.select_option("#memories", label="Sums (buffer)")
    results = np.load("s.npy")[32:]
    shown = [text.split()[1] for text in opened.locator("#elements .element").all_inner_texts()]
    assert shown == [str(result) for result in results]
    opened.locator("#grid .cell").nth(13).click()
    expect(opened.locator("#lane-head")).to_contain_text("subgroup 1 lane 5, invocation (13, 0, 0)")
    rows = dict(row.split("\t")[:2] for row in opened.locator("#values tr").all_inner_texts())
    assert rows["value"] == str(values[13])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone(opened: Page, theme: str) -> None:
    opened.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    opened.set_viewport_size({"width": 390, "height": 844})
    name = "a_shader_with_a_name_that_is_far_longer_than_the_screen_is_wide.comp"
    Path(name).write_text(RACE)
    show(opened, "check", name, "--subgroup-size", "8,32", "--device", "none")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    # What is said of a line is below it, inside of the visible part.
    boxes = [box for box in (each.bounding_box() for each in opened.locator(".said").all()) if box]
    assert len(boxes) == 2
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)


def test_names_are_no_markup(opened: Page) -> None:
    name = "<img src=x>.comp"
    Path(name).write_text(
        RACE.replace("// ", "").replace("void main", "// <script>alert(1)</script>\nvoid main")
    )
    show(opened, "check", name, "--subgroup-size", "8", "--device", "none")
    assert opened.locator("img").count() == 0
    expect(opened.locator("#shader")).to_have_text(name)
    expect(opened.locator("#code")).to_contain_text("<script>alert(1)</script>")


def test_a_thousand_lanes_and_ten_thousand_steps(opened: Page) -> None:
    body = """layout(local_size_x = 1024) in;
layout(std430, binding = 0) buffer Values { float values[]; };
shared float parts[1024];
void main() {
    uint i = gl_LocalInvocationIndex;
    float x = values[i];
    for (uint k = 0u; k < 500u; ++k) {
        parts[i] = x;
        barrier();
        x += parts[(i + k + 1u) % 1024u] * 0.001;
        barrier();
    }
    values[i] = x;
}
"""
    Path("large.comp").write_text("#version 460\n" + body)
    np.save("ones.npy", np.ones(1024, np.float32))
    show(opened, "run", "large.comp", "--groups", "1", "--in", "Values=ones.npy", "--device", "reference:32")
    assert opened.locator("#grid .cell").count() == 1024
    assert opened.get_attribute("#slider", "max") == "9999"
    expect(opened.locator("#finding")).to_contain_text("those from 1 to 10000 are recorded")
    opened.keyboard.press("End")
    opened.select_option("#watch", "x")
    # Every round adds a thousandth of another lane, which is equal.
    rounds = [np.float32(1)]
    for _ in range(500):
        rounds.append(np.float32(rounds[-1] + rounds[-1] * np.float32(0.001)))
    (only,) = set(values_of(opened))
    assert any(float(only) == float(f"{value:.4g}") for value in rounds[200:])


BARRIER = """#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
shared uint parts[32];
void main() {
    uint t = gl_LocalInvocationIndex;
    if (t < 4u) {
        parts[t] = t;
        barrier();
    }
    sums[t] = parts[t % 4u];
}
"""


def test_a_barrier_that_some_do_not_reach_comes_first_and_says_how_many(opened: Page) -> None:
    Path("barrier.comp").write_text(BARRIER)
    show(opened, "check", "barrier.comp", "--subgroup-size", "8", "--device", "none")
    kinds = [text.split(": ")[1].split(",")[0] for text in opened.locator("#trace option").all_inner_texts()]
    assert kinds[0] == "barrier"
    assert len(kinds) > 1
    expect(opened.locator("#where")).to_contain_text(
        "4 of 32 lanes execute it; a barrier of the workgroup, to which 28 of its 32 invocations do not come"
    )


def test_an_undefined_value_leads_to_where_it_was_read_and_to_its_use(opened: Page) -> None:
    body = BARRIER.replace("t < 4u", "t != 5u").replace("        barrier();\n", "")
    Path("fresh.comp").write_text(
        body.replace("    sums[t] = parts[t % 4u]", "    barrier();\n    sums[t] = parts[31u - t]")
    )
    show(opened, "check", "fresh.comp", "--subgroup-size", "8", "--device", "none")
    expect(opened.locator("#where .event")).to_have_text("The undefined value comes from here")
    assert "OpLoad" in opened.inner_text("#where")
    expect(opened.locator("#who")).to_contain_text("subgroup 3 lane 2 reads parts[5] in line 11")
    expect(opened.locator(".element.blame b")).to_have_text("parts[5]")
    opened.keyboard.press("o")
    expect(opened.locator("#where .event")).to_have_text("The undefined value is used here")
    assert "OpStore" in opened.inner_text("#where")


def test_a_barrier_of_the_subgroup_waits_for_no_other_subgroup(opened: Page) -> None:
    body = BARRIER.replace("    if (t < 4u) {", "    if (gl_SubgroupID == 0u) {").replace(
        "barrier();", "subgroupBarrier();"
    )
    extension = "#version 460\n#extension GL_KHR_shader_subgroup_basic : require"
    Path("part.comp").write_text(body.replace("#version 460", extension))
    show(
        opened, "run", "part.comp", "--groups", "1", "--out", "Sums=uint[32]:s.npy", "--device", "reference:8"
    )
    opened.keyboard.press("Home")
    while "OpControlBarrier" not in opened.inner_text("#where"):
        opened.keyboard.press("ArrowRight")
    assert "8 of 32 lanes execute it\n" in opened.inner_text("#where")
