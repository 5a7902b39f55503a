"""The measurement of two devices against one: what is run in which order, and what is written."""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from vkgroup.conformance import Result, Run, Status
from vkgroup.conformance.run import Setup
from vkgroup.device import Capabilities, DeviceInfo

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import two_gpus


@pytest.fixture
def judged(monkeypatch, swiftshader):
    """Let runs take a second on one device and half of it on two, but for the verdict of one case."""
    made = []

    def run(device, *, cases, scheduler, out, timeout, on_results):
        for results in scheduler.run(Setup(device, 0, timeout), [], deadline=math.inf):
            on_results(results)
        on_results([Result(case.name, Status.NOT_SUPPORTED) for case in cases])
        time.sleep(0.01)
        on_results([Result(case.name, Status.PASS) for case in cases])
        made.append((len(scheduler.members), scheduler.jobs, len(cases)))
        found = Run(scheduler.capabilities, 0, scheduler.jobs, "now")
        found.results = [Result(case.name, Status.PASS) for case in cases]
        if len(made) == 3:
            found.results[0] = Result(cases[0].name, Status.FAIL)
        found.executed, found.seconds = len(cases), 1.0 / len(scheduler.members)
        return found

    monkeypatch.setattr(two_gpus, "run", run)
    return made


def measured(monkeypatch, out: Path, *options: str) -> dict[str, object]:
    cases = ["--cases", "vote.compute.*.bool.all.exact"]
    device = ["--device", "swiftshader,swiftshader", "--jobs", "3"]
    monkeypatch.setattr(sys, "argv", ["two_gpus.py", "--out", str(out), *cases, *device, *options])
    assert two_gpus.main() == 0
    found: dict[str, object] = json.loads(out.read_text())
    return found


def test_rounds_alternate_and_give_a_ratio(judged, monkeypatch, tmp_path, capsys) -> None:
    found = measured(monkeypatch, tmp_path / "new" / "two.json", "--rounds", "2", "--control")
    everything = [(2, 6, 3), (1, 6, 3), (1, 3, 3), (2, 6, 3), (2, 6, 3), (1, 3, 3)]
    assert judged == everything  # the warm-up, the control, one and both, both and the other
    assert [run["who"] for run in found["runs"]] == ["device 0", "both", "device 1", "both", two_gpus.CONTROL]
    assert all(0.01 <= run["first"] < 10.0 for run in found["runs"])
    assert found["speedup"] == 2.0
    assert found["interval"] == [2.0, 2.0]
    assert found["verdicts_that_differ"] == ["vote.compute.subgroupAll.bool.all.exact"]
    assert json.loads(capsys.readouterr().out)["speedups"] == [2.0, 2.0]


def test_two_of_one_model_are_found(monkeypatch) -> None:
    one = DeviceInfo("/i.json", "nvidia", 0, "H200", "discrete_gpu", "NVIDIA", "5", (1, 4, 0), "ab", 32)
    second, other = replace(one, index=1, uuid="cd"), replace(one, name="H100", uuid="ef")
    monkeypatch.setattr(two_gpus, "read_capabilities", lambda device: Capabilities(device.name, device.type))
    monkeypatch.setattr(two_gpus.multi_device, "choose", lambda choice: [other, one, second])
    assert two_gpus.pair("all") == (one, second)
    monkeypatch.setattr(two_gpus.multi_device, "choose", lambda choice: [other, one])
    with pytest.raises(SystemExit, match="there are no two devices of the same model"):
        two_gpus.pair("all")


def test_one_device_can_have_half_of_the_cores(judged, monkeypatch, tmp_path) -> None:
    allowed, set_to = {0, 1, 2, 3, 4, 5}, []
    monkeypatch.setattr(two_gpus.os, "sched_getaffinity", lambda process: allowed)
    monkeypatch.setattr(two_gpus.os, "sched_setaffinity", lambda process, to: set_to.append(set(to)))
    monkeypatch.setattr(two_gpus, "half_of_the_cores", lambda: {0, 3})
    found = measured(monkeypatch, tmp_path / "two.json", "--rounds", "1", "--halves")
    assert found["halves"] is True
    assert set_to == [{0, 3}, allowed, allowed, allowed]
    assert [(run["who"], run["processors"]) for run in found["runs"]] == [("device 0", 2), ("both", 6)]


def test_siblings_of_a_core_are_in_one_half(monkeypatch) -> None:
    monkeypatch.setattr(two_gpus.os, "sched_getaffinity", lambda process: {0, 1, 2, 3, 6, 7})
    monkeypatch.setattr(Path, "exists", lambda self: True)
    numbers = {0: "0,4", 1: "1,5", 2: "2-3", 3: "2-3", 6: "6", 7: "7"}
    monkeypatch.setattr(Path, "read_text", lambda self: numbers[int(self.parts[5].removeprefix("cpu"))])
    assert two_gpus.half_of_the_cores() == {0, 1}
    monkeypatch.setattr(two_gpus.os, "sched_getaffinity", lambda process: {2, 3, 6, 7})
    assert two_gpus.half_of_the_cores() == {2, 3}


@pytest.mark.parametrize("option", ["--rounds", "--every", "--jobs"])
def test_no_rounds_cases_or_workers_are_bad_usage(option, monkeypatch, tmp_path, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        measured(monkeypatch, tmp_path / "two.json", option, "0")
    assert ended.value.code == 2
    assert f"{option} must be at least 1" in capsys.readouterr().err
