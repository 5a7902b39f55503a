"""Comparison of two runs by case, capability and speed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import Result, Status
from vkgroup.outputs import diff, history
from vkgroup.outputs.history import RunKind, RunRecord

RECORDED = Path(__file__).parents[3] / "bench" / "results"

OLD = {"a": "Pass", "b": "Fail", "c": "NotSupported", "d": "Pass", "e": "Crash", "f": "Fail", "g": "Pass"}
NEW = {"a": "Fail", "b": "Pass", "c": "Timeout", "e": "Fail", "f": "NotSupported", "g": "Pass", "h": "Fail"}
NEW |= {"i": "Pass"}


def _results(statuses: dict[str, str]) -> list[Result]:
    return [Result(case, Status(status), detail=f"{status} of {case}") for case, status in statuses.items()]


@pytest.mark.parametrize("stored", ["database", "files"])
def test_cases_are_grouped_by_change_of_status(tmp_path: Path, record, stored: str) -> None:
    if stored == "database":
        keys = [record(_results(statuses)) for statuses in (OLD, NEW)]
        with history.open(tmp_path / "runs.db") as database:
            found = diff.differences(*map(database.run, keys))
    else:
        for name, statuses in (("old", OLD), ("new", NEW)):
            lines = (json.dumps(one.to_json()) + "\n" for one in _results(statuses))
            (tmp_path / f"{name}.jsonl").write_text("".join(lines))
        found = diff.differences(*(history.load(tmp_path / f"{name}.jsonl") for name in ("old", "new")))
    cases = found.cases
    assert cases is not None
    assert [(one.case, one.detail) for one in cases.newly_failing] == [
        ("a", "Fail of a"),
        ("c", "Timeout of c"),
    ]
    assert [(one.case, one.detail) for one in cases.fixed] == [("b", "Fail of b")]
    assert [(one.case, one.old, one.new, one.detail) for one in cases.appeared_failing] == [
        ("h", None, Status.FAIL, "Fail of h")
    ]
    assert [(one.case, one.old, one.new, one.detail) for one in cases.appeared] == [
        ("i", None, Status.PASS, "")
    ]
    assert [(one.case, one.old, one.new) for one in cases.vanished] == [("d", Status.PASS, None)]
    assert [(one.case, one.old, one.new) for one in cases.other] == [
        ("e", Status.CRASH, Status.FAIL),
        ("f", Status.FAIL, Status.NOT_SUPPORTED),
    ]
    assert cases.same == 1
    assert found.newly_fails
    assert found.to_json()["cases"]["newly_failing"][0] == {
        "case": "a",
        "old": "Pass",
        "new": "Fail",
        "detail": "Fail of a",
    }


@pytest.mark.parametrize(
    ("old", "new"), [("Fail", "Crash"), ("Fail", "Pass"), (None, "Fail"), ("Fail", None)]
)
def test_only_new_failures_fail(tmp_path: Path, record, old, new) -> None:
    keys = [record(_results({"kept": "Pass"} | ({"x": status} if status else {}))) for status in (old, new)]
    with history.open(tmp_path / "runs.db") as database:
        assert not diff.differences(*map(database.run, keys)).newly_fails


def _probe(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((RECORDED / name / "probe.json").read_text())
    return data


def _of(make_info, **documents: Any) -> RunRecord:
    return RunRecord(make_info(id="x", kind=RunKind.PROBE), None, documents)


def test_capabilities_are_compared_by_name(make_info) -> None:
    old = _probe("swiftshader")
    new = copy.deepcopy(old)
    declared = new["capabilities"]
    declared["features"] = [*declared["features"][1:], "shaderNew"]
    declared["extensions"]["VK_EXT_tooling_info"] = 2
    del declared["extensions"]["VK_KHR_bind_memory2"]
    declared["limits"]["maxPushConstantsSize"] = 256
    declared["subgroup"]["supported_operations"].append("clustered")
    declared["memory_heaps"] = [[1, ["device_local"]]]
    declared["uuid"] = "of another board"
    new["experiments"]["subgroup_size"]["sentence"] = "5"
    found = diff.differences(_of(make_info, probe=old), _of(make_info, probe=new))
    assert found.cases is None
    assert found.speed is None
    assert not found.newly_fails
    assert [(one.group, one.name, one.old, one.new) for one in found.capabilities or ()] == [
        ("property", "memory_heaps", [[2147483648, ["device_local"]]], [[1, ["device_local"]]]),
        ("property", "subgroup.supported_operations.clustered", None, True),
        ("feature", "bufferDeviceAddress", True, None),
        ("feature", "shaderNew", None, True),
        ("extension", "VK_EXT_tooling_info", 1, 2),
        ("extension", "VK_KHR_bind_memory2", 1, None),
        ("limit", "maxPushConstantsSize", 128, 256),
        ("experiment", "subgroup_size", "observed: 4, as declared; exactly 4 when required", "observed: 5"),
    ]
    json.dumps(found.to_json())


def test_a_probe_and_the_capabilities_of_a_run_can_be_compared(make_info) -> None:
    probe = _probe("lavapipe-25.0.7")
    found = diff.differences(
        _of(make_info, probe=probe), _of(make_info, capabilities={"capabilities": probe["capabilities"]})
    )
    assert found.capabilities == ()


def _bench() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((RECORDED / "nvidia-h200" / "bench.json").read_text())
    return data


def test_speed_changes_count_beyond_the_intervals(make_info) -> None:
    old = _bench()
    new = copy.deepcopy(old)
    medians = [entry for entry in new["benchmarks"] if "time_low" in entry]
    slower, faster, within = medians[:3]
    for entry, factor in ((slower, 1.5), (faster, 0.5)):
        for key in ("real_time", "time_low", "time_high"):
            entry[key] *= factor
    within["real_time"] = within["time_high"]
    wrong = {"run_name": "broken/1/subgroup", "error_occurred": True, "error_message": "word 3"}
    new["benchmarks"].append(wrong)
    found = diff.differences(_of(make_info, bench=old), _of(make_info, bench=new))
    assert found.speed is not None
    verdicts = {one.name: one.verdict(found.speed.threshold) for one in found.speed.changes}
    assert {name: verdict for name, verdict in verdicts.items() if verdict != "same"} == {
        slower["run_name"]: "slower",
        faster["run_name"]: "faster",
    }
    assert found.speed.newly_wrong == ("broken/1/subgroup",)
    assert found.newly_fails
    data = found.to_json()["speed"]
    assert [row["row"] for row in data["slower"]] == [slower["run_name"]]
    assert data["slower"][0]["ratio"] == pytest.approx(1.5)
    assert data["newly_wrong"] == {"broken/1/subgroup": "word 3"}
    again = diff.differences(_of(make_info, bench=new), _of(make_info, bench=new), threshold=0.6)
    assert not again.newly_fails, "it was wrong before"


def test_runs_without_common_content_are_refused(make_info) -> None:
    probe, bench = _of(make_info, probe=_probe("swiftshader")), _of(make_info, bench=_bench())
    with pytest.raises(InvalidInput, match="no data in common"):
        diff.differences(probe, bench)
