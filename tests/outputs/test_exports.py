"""Exports of a run: JUnit and the summary."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import Result, Run, Status
from vkgroup.conformance.expectations import PROMISES
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.device import Capabilities
from vkgroup.outputs.exports.folder import write_summary
from vkgroup.outputs.exports.junit import write_junit

RESULTS = [
    Result("vote.compute.subgroupAll.bool.all.exact", Status.PASS, 0.25, 512, 0),
    Result(
        "vote.compute.subgroupAny.bool.all.exact", Status.FAIL, 0.5, 512, 0, "lane 3 <wrong> & \x00\x1b[31m"
    ),
    Result("quad.compute.subgroupQuadBroadcast.int.all.exact.beyond", Status.UNDEFINED, 0.1, 0, 512),
    Result(
        "quad.compute.subgroupQuadBroadcast.int8_t.all.exact.q0",
        Status.NOT_SUPPORTED,
        detail="needs shaderInt8",
    ),
    Result("quad.compute.subgroupQuadBroadcast.int.all.exact.q1", Status.CRASH, detail="killed by signal 11"),
    Result("quad.compute.subgroupQuadBroadcast.int.all.exact.q2", Status.TIMEOUT, detail="no answer in 5 s"),
]


def run() -> Run:
    found = Run(
        Capabilities(name='A "device" <&>', type="cpu"), seed=3, jobs=2, started="2026-01-01T00:00:00+00:00"
    )
    found.results = list(RESULTS)
    found.seconds, found.executed = 2.0, 5
    return found


def test_junit_holds_every_case_with_its_status(tmp_path) -> None:
    write_junit(RunOutcomes(run()), tmp_path / "junit.xml")
    suites = {suite.get("name"): suite for suite in ElementTree.parse(tmp_path / "junit.xml").getroot()}
    counts = {
        name: {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
        for name, suite in suites.items()
    }
    assert counts["vote"] == {"tests": "2", "failures": "1", "errors": "0", "skipped": "0"}
    assert counts["quad"] == {"tests": "4", "failures": "0", "errors": "2", "skipped": "2"}
    failure = suites["vote"].find("testcase/failure")
    assert failure.text.startswith("lane 3 <wrong> &")
    assert "\x00" not in failure.text
    names = {f"{case.get('classname')}.{case.get('name')}" for suite in suites.values() for case in suite}
    # The capabilities of this device break a promise of Vulkan, which is a case of its own in the export.
    assert names == {PROMISES, *(result.case for result in RESULTS)}


def test_the_summary_is_json_with_totals(tmp_path) -> None:
    write_summary(run(), tmp_path / "summary.json")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["device"] == 'A "device" <&>'
    of_execution = set(Status) - {Status.COMPILED, Status.REJECTED, Status.NOT_EMULATED}
    assert summary["totals"] == {status.value: 1 for status in of_execution}
    assert summary["lanes"] == {"defined": 1024, "undefined": 512}
    assert summary["cases_per_second"] == 2.5
    assert summary["seed"] == 3


def test_files_that_cannot_be_written_are_reported(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    outcomes = RunOutcomes(run())
    for write in (write_junit, lambda outcomes, path: write_summary(outcomes.run, path)):
        with pytest.raises(InvalidInput, match="cannot write"):
            write(outcomes, tmp_path / "file" / "report")
