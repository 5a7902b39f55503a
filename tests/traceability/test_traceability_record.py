"""Recording results: cases and tests become counts, the counts a row's words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from locate import plain, sentences_in, stretches
from trace_model import BadData, Document, Evidence, Row, read
from trace_pages import Reasons, page, verdict
from trace_status import Count, count_cases, count_examples, load, record, save

DATA = """
title = "A document"
edition = "first"
headings = ["Rules", "History"]

[[section]]
id = "x.rules"
heading = "Rules"
title = "Rules"
opens = "The rules."

[[section.row]]
id = "x.first"
opens = "A first"
says = "There is one."
shown = ["case:basic.*.one", "test:tests/a/test_b.py"]

[[section.row]]
id = "x.second"
opens = "A second"
says = "And another."
untestable = "it has no effect"

[[section]]
id = "x.history"
heading = "History"
title = "History"
opens = "Written"
informative = "who wrote what"
"""
TEXT = """The rules.
A first
rule. A `second` rule, of
|two| lines|
Written by somebody.
"""


def document_of(folder: Path, text: str = DATA) -> Document:
    file = folder / "a_document.toml"
    file.write_text(text)
    return read(file)


def results(folder: Path, **statuses: str) -> Path:
    folder.mkdir()
    lines = [
        json.dumps({"case": name.replace("_", "."), "status": status, "detail": f"why {name}"})
        for name, status in statuses.items()
    ]
    (folder / "results.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_rows_lie_over_the_text_like_tiles(tmp_path: Path) -> None:
    found, faults = stretches(document_of(tmp_path), TEXT)
    assert faults == []
    assert [(one.name, one.text) for one in found] == [
        ("x.rules", "The rules."),
        ("x.first", "A first rule."),
        ("x.second", "A second rule, of two| lines"),
        ("x.history", "Written by somebody."),
    ]
    assert " ".join(one.text for one in found) == plain(TEXT)


def test_a_row_that_is_not_in_the_text_is_told(tmp_path: Path) -> None:
    _, faults = stretches(document_of(tmp_path), TEXT.replace("second", "third"))
    assert [fault.partition(":")[0] for fault in faults] == ["x.second"]


def test_what_a_web_page_puts_before_the_text_is_left_out(tmp_path: Path) -> None:
    found, faults = stretches(document_of(tmp_path), f"Something before. {TEXT}")
    assert (faults, found[0].text) == ([], "The rules.")


def test_sentences_are_counted() -> None:
    assert sentences_in("One (so). Two: version 4.5 is one. No end") == 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('says = "There is one."\n', ""),
        ("opens = ", "begins = "),
        ('"case:basic.*.one"', '"basic.*.one"'),
        ('"case:basic.*.one"', '"case:"'),
        ('edition = "first"\n', ""),
    ],
)
def test_data_of_another_form_is_refused(tmp_path: Path, before: str, after: str) -> None:
    with pytest.raises(BadData):
        document_of(tmp_path, DATA.replace(before, after, 1))


def test_cases_are_counted_by_glob(tmp_path: Path) -> None:
    run = results(tmp_path / "run", a_one="Pass", a_two="Crash", b_one="NotSupported", b_two="Undefined")
    counts = count_cases([run], ["a.*", "*.one", "b.*", "c.*"])
    assert counts["a.*"] == Count(passed=1, failed=1)
    assert counts["*.one"] == Count(passed=1, not_supported=1, reason="why b_one")
    assert counts["b.*"] == Count(undefined=1, not_supported=1, reason="why b_one")
    assert counts["c.*"].total == 0


def test_of_several_runs_the_worst_that_says_something_counts(tmp_path: Path) -> None:
    first = results(tmp_path / "1", a_one="Pass", a_two="NotSupported", a_three="Undefined")
    second = results(tmp_path / "2", a_one="Fail", a_two="Undefined", a_three="Pass")
    assert count_cases([first, second], ["a.*"])["a.*"] == Count(passed=1, failed=1, undefined=1)


def test_results_may_be_compressed(tmp_path: Path) -> None:
    run = results(tmp_path / "run", a_one="Pass", a_two="Fail")
    plain = run / "results.jsonl"
    packed = run / "results.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    of_file = count_cases([packed], ["a.*"])
    plain.unlink()
    assert count_cases([run], ["a.*"]) == of_file == {"a.*": Count(passed=1, failed=1)}


def test_examples_are_counted_by_their_verdicts(tmp_path: Path) -> None:
    file = tmp_path / "tutorial.txt"
    file.write_text(
        "On a device:\nvote   ok   all\nsum   WRONG   no sum\npooling   unsupported   needs more\n"
    )
    assert count_examples(file, "nvidia-h200") == {
        "tutorial:vote": {"nvidia-h200": Count(passed=1)},
        "tutorial:sum": {"nvidia-h200": Count(failed=1)},
        "tutorial:pooling": {"nvidia-h200": Count(not_supported=1, reason="needs more")},
    }


def test_a_record_keeps_other_devices_and_drops_what_is_not_asked_for(tmp_path: Path) -> None:
    document = document_of(tmp_path)
    before = {"case:basic.*.one": {"nvidia-h200": Count(passed=3)}, "case:gone.*": {"reference": Count(1)}}
    run = results(tmp_path / "run", basic_compute_one="Pass", basic_compute_two="Fail")
    found = record(before, [document], {"swiftshader": [run]})
    assert found["case:basic.*.one"] == {"nvidia-h200": Count(passed=3), "swiftshader": Count(passed=1)}
    assert "case:gone.*" not in found
    save(found, tmp_path / "status.json")
    assert load(tmp_path / "status.json") == {key: row for key, row in found.items() if row}


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (Count(), ""),
        (Count(passed=2, undefined=1, not_supported=5), "Pass 2"),
        (Count(passed=2, failed=1), "**Fail 1**, Pass 2"),
        (Count(undefined=4, not_supported=1), "undefined 4"),
        (Count(not_supported=1, reason="no quads"), "not supported (a)"),
    ],
)
def test_words_for_counts(count: Count, words: str) -> None:
    assert verdict(count, Reasons()) == words


def test_a_page_has_every_row_and_its_answer(tmp_path: Path) -> None:
    text = page(document_of(tmp_path), {"case:basic.*.one": {"reference": Count(passed=7)}})
    (first,) = [line for line in text.splitlines() if line.startswith("| `x.first`")]
    assert first.split(" | ")[3:] == [
        "`basic.*.one`<br>`tests/a/test_b.py`",
        "not run",
        "not run",
        "not run",
        "not run",
        "Pass 7 |",
    ]
    assert "cannot be tested: it has no effect" in text
    assert "Not normative: who wrote what" in text


def test_a_page_opens_with_counts(tmp_path: Path) -> None:
    counted = {"swiftshader": Count(passed=7), "reference": Count(passed=1, failed=2)}
    lines = page(document_of(tmp_path), {"case:basic.*.one": counted}).splitlines()
    assert "Edition: first. 2 rows: 1 shown, 1 cannot be tested, 0 not normative." in lines
    head = lines.index("| rows | SwiftShader | lavapipe 25 | lavapipe 22 | H200 | reference |")
    assert lines[head + 2 : head + 7] == [
        "| Pass | 1 | 0 | 0 | 0 | 0 |",
        "| Fail | 0 | 0 | 0 | 0 | 1 |",
        "| undefined | 0 | 0 | 0 | 0 | 0 |",
        "| not supported | 0 | 0 | 0 | 0 | 0 |",
        "| not run | 0 | 1 | 1 | 1 | 0 |",
    ]


def test_reasons_have_letters() -> None:
    reasons = Reasons()
    assert [reasons.letter(str(number)) for number in (*range(27), 0)][-3:] == ["z", "aa", "a"]


def test_a_row_has_one_answer() -> None:
    row = Row("x", "words", "meaning", (Evidence("file", "README.md"),), "because", "", "")
    assert row.answers == 2
