"""Exports of a run with expectations: tables, baselines, annotations and JUnit agree."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.conform_end import finish
from vkgroup.cli.console import Console
from vkgroup.conformance import Result, Run, Status
from vkgroup.conformance.expectations import ExpectationOutcome, read_expectations
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.device import Capabilities, Subgroup
from vkgroup.outputs.exports.annotations import github, write_gitlab
from vkgroup.outputs.exports.baseline import check_baseline, save_baseline, write_tables
from vkgroup.outputs.exports.folder import write_summary
from vkgroup.outputs.exports.junit import write_junit
from vkgroup.record.causes import find_causes
from vkgroup.record.causes.text import MOST_COLUMNS, MOST_LINES, truncated
from vkgroup.record.record import AGAINST_THE_DEVICE

DEVICE = Capabilities(
    name="a device",
    driver_name="a driver",
    driver_info="1.2",
    type="cpu",
    subgroup=Subgroup(size=4, supported_stages=("compute",), supported_operations=("basic",)),
)
RESULTS = [
    Result("vote.compute.d.known", Status.FAIL, 0.5, 4, 0, "wrong"),
    Result("vote.compute.a.passes", Status.PASS, 0.25, 4),
    Result("vote.compute.b.fails", Status.FAIL, 0.125, 4, 0, "50% wrong,\r\nin lane: 3 ::error::"),
    Result("vote.compute.c.crashes", Status.CRASH, detail="killed"),
    Result("vote.compute.e.improved", Status.PASS),
    Result("vote.compute.f.flakes", Status.FAIL, detail="wrong once"),
    Result("vote.compute.g.known_flake", Status.TIMEOUT),
    Result("vote.compute.h.unsupported", Status.NOT_SUPPORTED, detail="needs shaderInt8"),
    Result("vote.compute.i.undefined", Status.UNDEFINED),
]
BASELINE = """\
# why these fail
vote.compute.d.known,Fail

vote.compute.e.improved,Fail
# another shard's
quad.compute.other,Crash
vote.compute.c.crashes,Fail
vote.compute.j.left_out,Fail
vote.compute.g.known_flake,Fail
"""
TABLE = [
    ("vote.compute.a.passes", "Pass", "0.250000"),
    ("vote.compute.b.fails", "Fail", "0.125000"),
    ("vote.compute.c.crashes", "Crash", "0.000000"),
    ("vote.compute.d.known", "ExpectedFail", "0.500000"),
    ("vote.compute.e.improved", "UnexpectedImprovement(Pass)", "0.000000"),
    ("vote.compute.f.flakes", "Flake", "0.000000"),
    ("vote.compute.g.known_flake", "KnownFlake", "0.000000"),
    ("vote.compute.h.unsupported", "Skip", "0.000000"),
    ("vote.compute.i.undefined", "Skip", "0.000000"),
    ("vote.compute.j.left_out", "Skip", "0.000000"),
    ("vote.compute.k.missing", "Missing", "0.000000"),
]
UNEXPECTED = [row for row in TABLE if row[1].startswith(("Fail", "Crash", "Unexpected", "Missing"))]


@pytest.fixture
def judged(tmp_path) -> RunOutcomes:
    (tmp_path / "fails.txt").write_text(BASELINE)
    (tmp_path / "flakes.txt").write_text("known_flake$\n")
    found = Run(DEVICE, seed=0, jobs=1, started="", results=list(RESULTS), missing=["vote.compute.k.missing"])
    expectations = read_expectations([tmp_path / "fails.txt"], (), [tmp_path / "flakes.txt"])
    again = {"vote.compute.f.flakes": Result("vote.compute.f.flakes", Status.PASS)}
    return RunOutcomes(found, expectations, ["vote.compute.j.left_out"], again)


def test_tables_are_deqp_runners(tmp_path, judged) -> None:
    write_tables(judged, tmp_path / "run")
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        rows = [tuple(row) for row in csv.reader(file)]
    assert [row[:3] for row in rows] == TABLE
    causes = {name: cause for name, _, _, cause in rows if cause}
    failed = {result.case for result in RESULTS if result.status in AGAINST_THE_DEVICE}
    assert causes == {name: judged.cause_of[name].id for name in failed}
    assert (tmp_path / "run" / "failures.csv").read_text() == "".join(
        f"{name},{outcome},{causes.get(name, '')}\n" for name, outcome, _ in UNEXPECTED
    )
    assert not judged.success
    assert (
        read_expectations([tmp_path / "run" / "results.csv"]).baseline["vote.compute.b.fails"].status
        == "Fail"
    )


def test_the_summary_counts_outcomes(tmp_path, judged) -> None:
    write_summary(judged.run, tmp_path / "summary.json", judged)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["outcomes"]["Skip"] == 3
    assert sum(summary["outcomes"].values()) == len(TABLE)
    assert summary["missing"] == 1


def test_junit_has_only_unexpected_failures(tmp_path, judged) -> None:
    write_junit(judged, tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    said = {f"{case.get('classname')}.{case.get('name')}": case for case in root.iter("testcase")}
    bad = {name: element.get("message") for name, case in said.items() for element in case.findall("*")
           if element.tag in ("failure", "error")}  # fmt: skip
    wanted = {name: outcome for name, outcome, _ in UNEXPECTED if outcome != "Missing"}
    titled = {
        name: f"{outcome}: {judged.cause_of[name].title}" if name in judged.cause_of else outcome
        for name, outcome in wanted.items()
    }
    assert bad == titled | {"run.time limit": "Missing"}
    assert "ExpectedFail: wrong" in said["vote.compute.d.known"].find("skipped").get("message")
    assert said["vote.compute.f.flakes"].find("system-out").text.startswith("Flake: wrong once\njudged again")
    assert said["vote.compute.j.left_out"].find("skipped").get("message") == "left out by --skips"
    suite = next(suite for suite in root if suite.get("name") == "vote")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("10", "2", "1")
    assert suite.get("skipped") == "4"
    assert root.get("tests") == str(len(said)) == "11"


def test_github_has_one_command_per_line(tmp_path, judged, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    lines = github(judged, tmp_path / "run")
    assert all("\n" not in line and "\r" not in line for line in lines)
    by_title = {line.partition("title=")[2].partition(",")[0].partition("::")[0]: line for line in lines}
    title = "in lane%3A 3 %3A%3Aerror%3A%3A (new cause%2C 1 case)"
    fails = by_title[title]
    assert fails.startswith(f"::error title={title}::in lane: 3 ::error::%0ACause ")
    assert fails.endswith("Smallest case: vote.compute.b.fails%0A50%25 wrong,%0Ain lane: 3 ::error::")
    improved = by_title["UnexpectedImprovement(Pass)%3A vote.compute.e.improved"]
    assert ",file=fails.txt,line=4::" in improved
    assert by_title["Missing"].startswith("::error title=Missing::1 case was not reached")
    assert by_title["Flake%3A vote.compute.f.flakes"].startswith("::warning ")
    assert len(lines) == 5


def test_github_has_at_most_the_shown_number(tmp_path) -> None:
    found = Run(DEVICE, seed=0, jobs=1, started="")
    found.results = [Result(f"vote.{number:02}", Status.FAIL) for number in range(30)]
    assert len(github(RunOutcomes(found), tmp_path)) == 1, "one annotation for all cases of a cause"
    found = Run(DEVICE, seed=0, jobs=1, started="")
    found.results = [Result(f"{number:02}.{'x' * number}", Status.FAIL) for number in range(30)]
    lines = github(RunOutcomes(found), tmp_path)
    assert len(lines) == 10
    assert lines[-1] == f"::error title=21 more::see {tmp_path / 'failures.csv'}"


def test_gitlab_has_the_fields_of_a_code_quality_report(tmp_path, judged, monkeypatch) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    write_tables(judged, tmp_path / "run")
    entries = json.loads(write_gitlab(judged, tmp_path / "run").read_text())
    assert {entry["check_name"] for entry in entries} == {
        "Fail", "Crash", "UnexpectedImprovement(Pass)", "Flake", "Missing",
    }  # fmt: skip
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) == 5
    failures = (tmp_path / "run" / "failures.csv").read_text().splitlines()
    for entry in entries:
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        path, line = Path(entry["location"]["path"]), entry["location"]["lines"]["begin"]
        if path.name == "failures.csv" and entry["check_name"] != "Flake":
            assert failures[line - 1].split(",")[1] == entry["check_name"]
    (improved,) = (entry for entry in entries if entry["check_name"].startswith("Unexpected"))
    assert improved["location"] == {"path": "fails.txt", "lines": {"begin": 4}}
    assert "expects Fail: remove the line" in improved["description"]


def test_a_baseline_of_a_run_makes_the_next_one_succeed(tmp_path, judged) -> None:
    path = tmp_path / "new" / "fails.txt"
    save_baseline(path, judged)
    assert path.read_text() == (
        "# a device, a driver 1.2\nvote.compute.b.fails,Fail\nvote.compute.c.crashes,Crash\n"
        "vote.compute.d.known,Fail\n"
    )
    again = RunOutcomes(judged.run, read_expectations([path]), judged.left_out, judged.reruns)
    assert set(again.unexpected.values()) == {ExpectationOutcome.MISSING, ExpectationOutcome.TIMEOUT}


def test_a_baseline_is_updated(tmp_path, judged) -> None:
    save_baseline(tmp_path / "fails.txt", judged)
    assert (tmp_path / "fails.txt").read_text() == BASELINE.replace(
        "vote.compute.e.improved,Fail\n", ""
    ).replace("c.crashes,Fail", "c.crashes,Crash") + "vote.compute.b.fails,Fail\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_another_file_is_not_replaced_by_a_baseline(tmp_path, judged) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("my notes, dear\n")
    with pytest.raises(InvalidInput, match=r"notes.md:1: 'dear' is not a status|' dear' is not a status"):
        check_baseline(notes)
    with pytest.raises(InvalidInput, match="is a folder"):
        check_baseline(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot write"):
        save_baseline(tmp_path / "file" / "fails.txt", judged)
    assert notes.read_text() == "my notes, dear\n"


def test_the_text_of_a_cause_is_given_once(tmp_path) -> None:
    found = Run(DEVICE, seed=0, jobs=1, started="", rule_of=lambda result: RULE)
    names = [f"vote.compute.subgroupAll.bool.{pattern}.exact" for pattern in ("odd", "all", "loop")]
    found.results = [
        Result(name, Status.FAIL, detail=f"a sentence\n{number} lanes are wrong")
        for number, name in enumerate(names)
    ]
    outcomes = RunOutcomes(found)
    write_junit(outcomes, tmp_path / "junit.xml")
    failures = list(ElementTree.parse(tmp_path / "junit.xml").getroot().iter("failure"))
    (cause,) = outcomes.causes
    assert [failure.get("type") for failure in failures] == [cause.id] * 3
    texts = [failure.text for failure in failures if not failure.text.startswith(f"Cause {cause.id}: see ")]
    assert len(texts) == 1
    assert "1 lanes are wrong" in texts[0], "the simplest case is executed by all lanes"
    assert 'Rule (required by Vulkan or SPIR-V): a document: "a sentence of it"' in texts[0]
    assert sum(failure.text == f"Cause {cause.id}: see {cause.smallest}" for failure in failures) == 2
    (line,) = github(outcomes, tmp_path)
    assert "(new cause%2C 3 cases)" in line
    (entry,) = json.loads(write_gitlab(outcomes, tmp_path).read_text())
    assert entry["fingerprint"]
    assert "3 cases" in entry["description"]


def test_long_details_are_truncated() -> None:
    lines = truncated("\n".join([*map(str, range(100)), "x" * 1000, "repeat: vkgroup again"]))
    assert len(lines) == MOST_LINES
    assert lines[0] == "0"
    assert lines[-2:] == ["… 87 more lines in results.jsonl", "repeat: vkgroup again"]
    assert len(truncated("x" * 1000)[0]) == MOST_COLUMNS + 1


RULE = {"document": "a document", "quote": "a sentence of it", "strength": "vulkan"}


@pytest.fixture
def without_verdict(tmp_path) -> RunOutcomes:
    """A run with one passed case and one that vkgroup could not judge."""
    case = "vote.compute.b.internal"
    passed = Result("vote.compute.a.passes", Status.PASS)
    run = Run(DEVICE, seed=0, jobs=1, started="", results=[passed])
    run.without_verdict[case] = "ZeroDivisionError: planted"
    return RunOutcomes(run, read_expectations(), [])


def test_junit_has_an_error_for_a_case_without_a_verdict(tmp_path, without_verdict) -> None:
    write_junit(without_verdict, tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    (error,) = root.iter("error")
    assert (error.get("message"), error.text) == (
        "No verdict, because of an error of vkgroup",
        "ZeroDivisionError: planted",
    )
    (suite,) = root
    assert (root.get("tests"), suite.get("tests"), suite.get("errors")) == ("2", "2", "1")
    assert suite.get("failures") == "0"


def test_the_last_lines_do_not_blame_the_driver_for_a_case_without_a_verdict(
    tmp_path, without_verdict, capsys
) -> None:
    write_summary(without_verdict.run, tmp_path / "summary.json", without_verdict)
    arguments = argparse.Namespace(report=None, known=True)
    assert finish(without_verdict, arguments, tmp_path, Console(stderr=False, highlight=False)) == 1
    printed = capsys.readouterr().out
    assert "No result: 1 case (not reached, or not judged because of an error of vkgroup)" in printed
    assert "No errors were found" not in printed
    assert "Unexpected results" not in printed


def test_a_title_says_what_happened() -> None:
    detail = "A sentence on the case.\nkilled by signal 11\nRule (required): R\nrepeat: vkgroup"
    (crash,) = find_causes([Result("vote.compute.a", Status.CRASH, detail=detail)], "", "")
    (short,) = find_causes([Result("vote.compute.a", Status.TIMEOUT, detail="no end")], "", "")
    (fail,) = find_causes([Result("vote.compute.a", Status.FAIL, detail=detail)], "", "")
    assert [crash.title, short.title] == ["Crash: killed by signal 11", "Timeout: no end"]
    assert fail.title == "killed by signal 11"
    detail = "A sentence on the case.\n3 of 64 lanes are wrong"
    (lanes,) = find_causes([Result("vote.compute.a", Status.FAIL, detail=detail)], "", "")
    assert lanes.title == "`vote.compute`: wrong result"
    name = "arithmetic.compute.subgroupAdd.float.all.exact"
    (lanes,) = find_causes([Result(name, Status.FAIL, detail=detail)], "", "")
    assert lanes.title == "`subgroupAdd` of `float`: wrong result"
