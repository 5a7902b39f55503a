"""Causes in the outputs of runs on SwiftShader: evidence, results, comparison and report."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.outputs import diff, history
from vkgroup.outputs.report.causes import causes_shown
from vkgroup.outputs.report.failures import Failures
from vkgroup.outputs.report.inputs import ReportInputs
from vkgroup.record.causes import causes_of

CASE = "vote.compute.subgroupAllEqual.uvec2.all.exact"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """Runs of a case that SwiftShader fails and lavapipe passes, and of one that SwiftShader passes."""
    folder = tmp_path_factory.mktemp("runs")
    scalar = "vote.compute.subgroupAllEqual.uint.all.exact"
    for name, device, case in (
        ("fails", "swiftshader", CASE),
        ("passes", "swiftshader", scalar),
        ("lavapipe", "lavapipe", CASE),
    ):
        command = [sys.executable, "-m", "vkgroup", "conform", "--device", device, "--filter", case]
        subprocess.run([*command, "--out", str(folder / name)], check=False, capture_output=True, timeout=120)
    return {name: folder / name for name in ("fails", "passes", "lavapipe")}


def test_the_evidence_has_what_the_hypothesis_predicts(runs) -> None:
    (line,) = (runs["fails"] / "results.jsonl").read_text().splitlines()
    evidence = json.loads(line)["evidence"]
    rows = evidence["rows"]
    assert rows["hypothesis"] == rows["got"], "the hypothesis explains every lane"
    assert [rows["expected"][lane] != rows["hypothesis"][lane] for lane in evidence["wrong"]]
    assert "predicted" not in evidence["diagnosis"]


def test_a_failure_and_its_cause_name_the_violated_sentence(runs) -> None:
    result = json.loads((runs["fails"] / "results.jsonl").read_text())
    assert "Rule (required by Vulkan or SPIR-V): SPIR-V 1.6" in result["detail"]
    (cause,) = json.loads((runs["fails"] / "summary.json").read_text())["causes"]
    assert cause["rule"]["quote"].startswith("The result is true if Value is equal for all")


def test_causes_that_appeared_and_disappeared(runs) -> None:
    old, new = (history.load(runs[name]) for name in ("passes", "fails"))
    found = diff.differences(old, new)
    (appeared,) = found.causes.appeared
    assert (appeared.id, appeared.old, appeared.new) == ("swiftshader-all-equal-vector", 0, 1)
    assert [cause.old for cause in diff.differences(new, old).causes.not_tested] == [1]
    assert diff.differences(new, old).causes.disappeared == ()
    gone = diff.differences(new, history.load(runs["lavapipe"])).causes
    assert [cause.old for cause in gone.disappeared] == [1]
    assert gone.not_tested == ()
    assert len(diff.differences(new, new).causes.remaining) == 1
    assert found.to_json()["causes"]["appeared"][0]["known"] is True
    command = [sys.executable, "-m", "vkgroup", "diff", str(runs["passes"]), str(runs["fails"])]
    text = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60).stdout
    assert "Causes of failures: 1 appeared, 0 disappeared" in text
    assert f"smallest case: {CASE}" in text


def test_a_cause_whose_cases_were_not_emulated_has_not_disappeared(runs, tmp_path) -> None:
    shutil.copytree(runs["fails"], tmp_path / "run")
    (line,) = (tmp_path / "run" / "results.jsonl").read_text().splitlines()
    changed = json.loads(line) | {
        "status": "NotEmulated",
        "detail": "v_none is not emulated",
        "evidence": None,
    }
    (tmp_path / "run" / "results.jsonl").write_text(json.dumps(changed) + "\n")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    (tmp_path / "run" / "summary.json").write_text(json.dumps(summary | {"causes": []}))
    causes = diff.differences(history.load(runs["fails"]), history.load(tmp_path / "run")).causes
    assert (len(causes.not_tested), causes.disappeared) == (1, ())


def test_the_report_has_causes_rules_and_results(runs) -> None:
    run = history.load(runs["fails"])
    (cause,) = causes_shown(run, None)
    assert cause["known"]
    assert cause["cases"] == [CASE]
    assert "1 of 1 cases" in cause["explanation"]
    assert cause["command"].startswith("vkgroup conform ")
    assert not any("Rule (" in line for line in cause["words"].splitlines())
    failures = Failures()
    failure = failures.of(run, list(run.results), ReportInputs(runs=[run]))[CASE]
    failures.close()
    assert "active lanes are wrong" in failure["words"].splitlines()[0], "the computed result, not the case"
    assert failures.texts()["rules"][failure["rule"]]["quote"].startswith(
        "The result is true if Value is equal"
    )


def test_causes_of_a_run_without_a_summary_have_rules(runs) -> None:
    run = history.load(runs["fails"])
    run.documents.pop("summary")
    (cause,) = causes_of(run, lambda result: {"document": "d", "quote": "q", "strength": "vulkan"})
    assert cause["smallest"] == CASE
    assert cause["rule"]["quote"]
