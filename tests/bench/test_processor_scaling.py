"""The measurement of what twice as many processes do: who does what, and what is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import processor_scaling
from processor_scaling import Measured, Work

from vkgroup.workers.opening import select


def test_each_kind_has_the_rate_of_its_last_run_in_that_of_its_first() -> None:
    runs = [
        Measured("arithmetic", 1, 2, 100.0, 0.02),
        Measured("arithmetic", 2, 4, 150.0, 0.03),
        Measured("pipelines", 1, 2, 10.0, 0.2),
        Measured("pipelines", 1, 4, 16.0, 0.2),
        Measured("pipelines", 2, 4, 20.0, 0.2),
    ]
    assert processor_scaling.scaling(runs) == {"arithmetic": 1.5, "pipelines": 2.0}


@pytest.mark.usefixtures("swiftshader")
def test_processes_work_side_by_side_and_all_is_written(monkeypatch, tmp_path, capsys) -> None:
    out = tmp_path / "new" / "scaling.json"
    options = [
        "--kinds",
        "arithmetic",
        "--device",
        "swiftshader",
        "--processes",
        "1",
        "2",
        "--seconds",
        "0.3",
    ]
    monkeypatch.setattr(sys, "argv", ["processor_scaling.py", "--out", str(out), *options])
    assert processor_scaling.main() == 0
    found = json.loads(out.read_text())
    assert [(run["kind"], run["processes"]) for run in found["runs"]] == [
        ("arithmetic", 1),
        ("arithmetic", 2),
    ]
    assert all(run["units_per_second"] > 0 and run["cpu_per_unit"] > 0 for run in found["runs"])
    assert json.loads(capsys.readouterr().out) == found["scaling"]


@pytest.mark.usefixtures("swiftshader")
def test_a_process_makes_each_pipeline_that_it_prepared_once() -> None:
    device = select("swiftshader")
    made = []
    for processes in (2, 1):
        made.append(0)
        for unit in processor_scaling.pipelines(Work("pipelines", (device,), processes, 0.05), 0):
            while unit():
                made[-1] += 1
    assert made == [round(0.05 * processor_scaling.MOST_A_SECOND)] * 2
