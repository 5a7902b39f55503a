"""Peak memory of a run: measured, reported, and limited where half a million cases need no dispatch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vkgroup import conformance
from vkgroup.base.processes import peak_memory
from vkgroup.cli.main import main
from vkgroup.workers.opening import select
from vkgroup.workers.worker_process import WorkerProcess

FILTER = "vote.compute.subgroupAll.bool.all.exact"


def test_the_peak_stays_after_memory_was_freed() -> None:
    before = peak_memory()
    np.ones(before + (64 << 20), np.uint8).sum()
    assert peak_memory() > before + (32 << 20)


def test_a_process_does_not_inherit_the_peak_of_another() -> None:
    np.ones(200 << 20, np.uint8).sum()
    command = [sys.executable, "-c", "from vkgroup.base.processes import peak_memory; print(peak_memory())"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 1 << 20 < int(done.stdout) < 100 << 20


def test_a_process_that_has_ended_has_none() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
        assert peak_memory(ended.pid) == 0


def test_summary_and_terminal_tell_the_peaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["conform", "--device", "reference", "--filter", FILTER, "--jobs", "1", "--out", str(tmp_path)])
        == 0
    )
    peaks = json.loads((tmp_path / "summary.json").read_text())["peak_memory"]
    assert peaks["process"] >= peaks["largest_worker"] // 10 > 1 << 20
    assert f"largest worker {peaks['largest_worker'] / 1e6:.0f} MB" in capsys.readouterr().out


def test_the_largest_worker_counts_after_it_was_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first worker is the largest; it is killed after its batch."""
    answers: list[WorkerProcess] = []
    ask = WorkerProcess.ask

    def ask_and_end(self: WorkerProcess, *arguments: object) -> object:
        answer = ask(self, *arguments)  # type: ignore[arg-type]
        answers.append(self)
        if len(answers) == 1:
            self.peak_memory = 123 << 30
            self.signal()
        return answer

    monkeypatch.setattr(WorkerProcess, "ask", ask_and_end)
    filters = (FILTER, "basic.compute.subgroupElect.bool.all.exact")
    found = conformance.run(select("reference"), filters=filters, jobs=1)
    assert len(found.results) == 2
    assert found.worker_memory == 123 << 30


SUITE = """
import sys
from vkgroup.cli.main import main
from vkgroup.conformance import Result, Status
from vkgroup.workers import scheduler
from vkgroup.workers.retry import BatchOutcome

class Passing:
    problem = None

    def __init__(self, *_):
        self.submitted = []

    running = property(lambda self: len(self.submitted))

    def submit(self, retry, alone):
        self.submitted.append(retry)
        return True

    def take(self, seconds):
        if not self.submitted:
            return None
        retry = self.submitted.pop()
        results = [Result(case.name, Status.PASS, 0.5, 64) for case in retry.batch.cases]
        return BatchOutcome(retry, results, "w", "d")

    def close(self):
        pass

scheduler.LocalScheduler.connect = Passing
raise SystemExit(main(["conform", "--device", "swiftshader", "--out", sys.argv[1]]))
"""
"""The whole suite without executing it: every case that SwiftShader supports passes at once."""


@pytest.mark.slow
def test_the_whole_suite_needs_less_than_500_megabytes(swiftshader: object, tmp_path: Path) -> None:
    out = tmp_path / "run"
    subprocess.run([sys.executable, "-c", SUITE, str(out)], check=True, capture_output=True)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["cases"] > 500_000
    assert summary["peak_memory"]["process"] < 500e6
    assert summary["peak_memory"]["largest_worker"] is None
    assert os.stat(out / "results.jsonl").st_size > 100e6
