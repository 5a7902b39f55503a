"""Fuzzing with a fixed budget, and the campaign itself: it finds what is planted, and tells where it is."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import fuzz_campaign
import pytest
from fuzz_campaign import campaign, jobs_of
from fuzz_corpora import ROOT
from fuzz_targets import TARGETS
from fuzz_worker import Job, draw

from vkgroup import drivers

SLOW = {"caselist", "command_devices", "command_check"}
SLOW |= {"report_run", "report_probe", "report_bench", "report_database"}
"""Targets whose first input costs seconds: they have their share of the recorded run alone."""

INPUTS = 25
"""Of each other target, with the seed 0."""


@pytest.mark.slow
def test_a_fixed_budget_finds_nothing(tmp_path: Path, swiftshader: drivers.CachedDriver) -> None:
    jobs = [job for name in TARGETS if name not in SLOW for job in jobs_of(name, INPUTS, seed=0)]
    reports = campaign(jobs, folder=tmp_path)
    assert [finding for report in reports.values() for finding in report.findings] == []
    assert {name: report.inputs for name, report in reports.items()} == dict.fromkeys(
        set(TARGETS) - SLOW, INPUTS
    )
    assert sum(report.accepted for report in reports.values()) > INPUTS


def test_planted_failures_are_found_and_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swiftshader: drivers.CachedDriver
) -> None:
    kinds = ("planted_exception", "planted_crash", "planted_hang")
    reports = campaign([Job(kind, 1, 60) for kind in kinds], limit=2.0, folder=tmp_path)
    found = {name: report.findings[0] for name, report in reports.items()}
    assert [len(report.findings) for report in reports.values()] == [1, 1, 1]
    assert {name: (one.kind, base64.b64decode(one.input)) for name, one in found.items()} == {
        "planted_exception": ("exception", b"\x07"),
        "planted_crash": ("crash", b"xx"),
        "planted_hang": ("hang", b"y"),
    }
    assert found["planted_exception"].what == "KeyError in fuzz_planted.py:_exception"
    assert found["planted_exception"].count > 1
    assert found["planted_crash"].what == "ended with -11"
    assert reports["planted_exception"].inputs == 60
    assert reports["planted_exception"].accepted == 0


def test_a_seed_makes_the_same_inputs() -> None:
    first, second = jobs_of("npy", fuzz_campaign.BATCH + 20, seed=3)
    assert (first.count, second.count) == (fuzz_campaign.BATCH, 20)
    drawn = list(draw(second))
    assert len(drawn) == 20
    assert list(draw(second)) == drawn
    assert list(draw(jobs_of("npy", 20, seed=4)[0])) != drawn


def test_the_recorded_run_covers_every_target() -> None:
    record = json.loads((ROOT / "bench" / "results" / "fuzz.json").read_text())
    assert record["inputs"] >= 100_000
    assert record["findings"] == 0
    assert set(record["targets"]) == set(TARGETS)
    assert all(target["slowest"] < record["limit_seconds"] for target in record["targets"].values())
