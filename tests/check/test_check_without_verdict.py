"""Checks in which a run does not end or vkgroup fails: no finding against a device, exit code 2."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vkgroup.base.errors import (
    CompileError,
    DeviceLost,
    DispatchTimeout,
    DriverError,
    InternalError,
    InvalidDispatch,
    InvalidModule,
    NotEmulated,
)
from vkgroup.check import check, device_jobs, state
from vkgroup.check.device_jobs import DispatchJob, JobAnswer, JobCompilation, JobSession, run_job
from vkgroup.cli import check_request
from vkgroup.cli.main import main
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import select
from vkgroup.workers.worker_process import WorkerDied

_RIGHT = Path(__file__).parent / "right" / "histogram_shared.comp"

_ENDLESS = """#version 460
layout(local_size_x = 1) in;
layout(binding = 0) buffer X { uint x[]; };
void main() { while (true) { x[0]++; } }
"""


def _checked(file: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    """The exit code, the report and the messages of ``vkgroup check``."""
    code = main(["check", str(file), *words, "--json", "-"])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


def test_a_shader_without_end_has_no_verdict(
    written: Callable[..., Path], swiftshader: CachedDriver, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shader is not run on the device, which it could hang."""
    monkeypatch.setattr(state, "run_job", lambda job: pytest.fail("the shader ran on the device"))
    monkeypatch.setattr(check_request, "RUN_PART", 100)
    words = ("--device", swiftshader.name, "--subgroup-size", "4", "--timeout", "30")
    limit = ("--step-limit", "1000000000")
    code, report, err = _checked(written(_ENDLESS), *words, *limit, capsys=capsys)
    assert code == 2
    assert report["findings"] == []
    cause = "no end within 0.3 s on the reference device at any size"
    assert f"{cause}; give more time (--timeout) or less work (--groups)" in report["no_verdict"]
    assert "not run, because the reference device does not end at size 4" in err
    assert "no verdict, because there is nothing to compare: no end within 0.3 s" in err
    assert "fails" not in err


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (JobAnswer(no_end="planted"), 2, "so there is nothing to compare"),
        (JobAnswer(internal_error="ZeroDivisionError: planted"), 2, "ZeroDivisionError: planted"),
        (JobAnswer(failure="the process was killed by signal 11"), 1, "but the reference device completes"),
        (JobAnswer(unsupported="shaderInt64"), 0, "it lacks shaderInt64"),
        (JobAnswer(not_emulated="v_planted is not emulated"), 0, ": v_planted is not emulated"),
        (JobAnswer(slow="planted"), 0, "planted"),
    ],
)
def test_only_errors_of_the_device_are_findings(
    answer: JobAnswer,
    code: int,
    said: str,
    swiftshader: CachedDriver,
    capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state, "run_job", lambda job: answer)
    words = ("--device", swiftshader.name, "--subgroup-size", "4")
    found, report, err = _checked(_RIGHT, *words, capsys=capsys)
    assert found == code
    assert len(report["findings"]) == (code == 1)
    assert said in err


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DispatchTimeout("planted"), "no_end"),
        (DeviceLost("planted"), "failure"),
        (DriverError("planted", "VK_ERROR_UNKNOWN"), "failure"),
        (DriverError("The buffer is closed; make a new one."), "internal_error"),
        (InvalidModule("planted"), "internal_error"),
        (InvalidDispatch("planted"), "internal_error"),
        (CompileError("planted"), "internal_error"),
        (NotEmulated("planted", ["v_planted"]), "not_emulated"),
    ],
)
def test_errors_in_the_process_of_the_device(
    error: Exception, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = _job(monkeypatch)

    def planted(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(Device, "run", planted)
    session = JobSession(job.device, job.timeout)
    assert session.perform(JobCompilation(job)).is_ready
    answer = session.perform(job)
    names = ("no_end", "failure", "internal_error", "unsupported", "not_emulated")
    assert {name for name in names if getattr(answer, name)} == {expected}
    assert not answer.is_ready


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Failure("internal", "planted"), "internal_error"),
        (Failure("busy", "planted"), "internal_error"),
        (Failure("timeout", "planted"), "no_end"),
        (WorkerDied("planted", is_internal=True), "internal_error"),
        (WorkerDied("planted"), "failure"),
    ],
)
def test_workers_that_fail(answer: Any, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeWorker:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def ask(self, job: DispatchJob | JobCompilation, seconds: float) -> Any:
            if isinstance(job, JobCompilation):
                return JobAnswer()
            if isinstance(answer, Exception):
                raise answer
            return answer

        def close(self) -> None: ...

    job = _job(monkeypatch)
    monkeypatch.setattr(device_jobs, "WorkerProcess", FakeWorker)
    assert getattr(run_job(job), expected) == "planted"


def test_an_internal_error_keeps_the_report(
    monkeypatch: pytest.MonkeyPatch, swiftshader: CachedDriver
) -> None:
    monkeypatch.setattr(state, "run_job", lambda job: JobAnswer(internal_error="planted"))
    report = check(_RIGHT, sizes=(4,), devices=[select(swiftshader.name)])
    assert report.findings == ()
    assert report.covered.compared
    with pytest.raises(InternalError, match=re.compile("no finding.*planted", re.DOTALL)):
        report.require_verdict()


def _job(monkeypatch: pytest.MonkeyPatch) -> DispatchJob:
    """The job of a check on the reference device."""
    jobs: list[DispatchJob] = []

    def keep(job: DispatchJob) -> JobAnswer:
        jobs.append(job)
        return JobAnswer(unsupported="planted")

    with monkeypatch.context() as patch:
        patch.setattr(state, "run_job", keep)
        check(_RIGHT, sizes=(4,), devices=[select("reference:4")])
    return jobs[0]


def test_numbers_that_no_invocation_writes_are_not_compared(checked, written) -> None:
    """Each written number depends on the order of atomics; the rest of the output keeps the input."""
    shader = written("""#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
shared uint slots;
shared uint part[64];
void main() {
    uint i = gl_LocalInvocationIndex;
    if (i == 0u) slots = 0u;
    barrier();
    part[atomicAdd(slots, 1u)] = a[i];
    barrier();
    if (i == 0u) b[gl_WorkGroupID.x] = part[0];
}
""")
    report = checked(shader)
    covered = report["covered"]
    assert (report["findings"], covered["compared"], covered["ordered"]) == ([], 0, 4)
    assert "no number of the outputs was compared" in report["text"]
