"""Errors of vkgroup and the host during a conformance run: no verdict on the device, exit code 2."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from mutants.driver_errors import (
    compile_error_on_elect,
    exits_on_elect,
    internal_error,
    internal_error_on_elect,
    invalid_module_on_elect,
    killed_by_the_system_on_elect,
    killed_on_elect,
    memory_error_on_elect,
    out_of_memory_on_elect,
    rejected_on_elect,
    time_out_on_elect,
    wait_on_elect,
)

import vkgroup
from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    DriverError,
    InvalidDispatch,
    OutOfMemory,
    Unsupported,
    ValidationError,
    is_device_error,
)
from vkgroup.cli import conform_run
from vkgroup.cli.main import main
from vkgroup.conformance import Run, Status, run
from vkgroup.conformance.execute import Transform
from vkgroup.conformance.subgroup import family
from vkgroup.record.run import CasesWithoutVerdict
from vkgroup.workers.opening import select
from vkgroup.workers.scheduler import MOST_WITHOUT_VERDICT
from vkgroup.workers.worker_process import own_code

PACKAGE = Path(vkgroup.__file__).parent
GUILTY = "basic.compute.subgroupElect.bool.all.exact"
OTHERS = ("vote.compute.subgroupAny.bool.all.exact", "vote.compute.subgroupAll.bool.all.exact")
ERRORS_OF_OURS = [
    (compile_error_on_elect, "CompileError: planted"),
    (invalid_module_on_elect, "InvalidModule"),
    (internal_error_on_elect, "ZeroDivisionError: planted"),
    (memory_error_on_elect, "MemoryError"),
    (out_of_memory_on_elect, "OutOfMemory: planted"),
    (killed_by_the_system_on_elect, "killed by signal 9"),
    (exits_on_elect, "ended with exit code 70"),
]

pytestmark = pytest.mark.usefixtures("swiftshader")

Command = Callable[..., tuple[int, str, Path]]


@pytest.fixture
def conform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """``vkgroup conform`` on SwiftShader with planted errors: the exit code, the messages, the folder."""

    def execute(transform: Transform | None, *words: str, **options: bool) -> tuple[int, str, Path]:
        monkeypatch.setattr(conform_run, "run", partial(run, transform=transform, **options))
        filters = [word for name in (GUILTY, *OTHERS) for word in ("--filter", name)]
        given = ["conform", "--device", "swiftshader", *filters, "--jobs", "1", *words]
        code = main([*given, "--out", str(tmp_path / "run")])
        return code, capsys.readouterr().err, tmp_path / "run"

    return execute


def statuses(folder: Path) -> dict[str, str]:
    lines = (folder / "results.jsonl").read_text().splitlines()
    return {result["case"]: result["status"] for result in map(json.loads, lines)}


@pytest.mark.parametrize(("transform", "said"), ERRORS_OF_OURS)
def test_an_error_of_ours_is_no_verdict(transform: Transform, said: str, conform: Command) -> None:
    code, err, folder = conform(transform)
    assert code == 2
    assert "Internal error: no verdict on 1 case." in err
    assert GUILTY in err
    assert said in err
    assert statuses(folder) == dict.fromkeys(OTHERS, "Pass")
    summary = json.loads((folder / "summary.json").read_text())
    assert list(summary["without_verdict"]) == [GUILTY]
    assert summary["totals"]["Fail"] == summary["totals"]["Crash"] == 0


def test_resume_judges_cases_without_a_verdict(conform: Command) -> None:
    assert conform(compile_error_on_elect)[0] == 2
    code, err, folder = conform(None, "--resume")
    assert code == 0
    assert "Internal error" not in err
    assert statuses(folder) == dict.fromkeys((GUILTY, *OTHERS), "Pass")


@pytest.mark.parametrize(
    ("transform", "status"),
    [(rejected_on_elect, "Fail"), (killed_on_elect, "Crash"), (time_out_on_elect, "Timeout")],
)
def test_an_error_of_the_device_is_a_verdict(transform: Transform, status: str, conform: Command) -> None:
    code, err, folder = conform(transform)
    assert code == 1
    assert "Internal error" not in err
    assert statuses(folder) == {GUILTY: status, **dict.fromkeys(OTHERS, "Pass")}


def test_an_exception_in_the_comparison_is_no_verdict(
    conform: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = family.verdict_on

    def planted(entry, *arguments, **options):
        if entry.case.name == GUILTY:
            raise IndexError("planted")
        return honest(entry, *arguments, **options)

    monkeypatch.setattr(family, "verdict_on", planted)
    code, err, folder = conform(None, isolate=False)
    assert code == 2
    assert f"{GUILTY}: IndexError: planted" in err
    assert statuses(folder) == dict.fromkeys(OTHERS, "Pass")


def test_errors_in_many_cases_end_the_run() -> None:
    with pytest.raises(CasesWithoutVerdict) as error:
        run(select("swiftshader"), filters=("vote.compute.*",), jobs=1, transform=internal_error)
    found: Run = error.value.run
    assert len(found.without_verdict) >= MOST_WITHOUT_VERDICT
    assert found.missing
    assert {result.status for result in found.results} == {Status.NOT_SUPPORTED}


def test_slow_code_of_ours_is_no_timeout_of_the_device() -> None:
    """The transform waits for a minute, in vkgroup's own code."""
    with pytest.raises(CasesWithoutVerdict) as error:
        run(select("swiftshader"), filters=(GUILTY,), jobs=1, timeout=1.0, transform=wait_on_elect)
    assert not error.value.run.failures
    assert "vkgroup itself did not end within 3 s, in " in error.value.run.without_verdict[GUILTY]


@pytest.mark.parametrize(
    ("innermost", "ours"),
    [
        ("device/vk.py", False),
        ("dispatch/vulkan/pipeline.py", False),
        ("reference/interpreter/execution/machine.py", False),
        ("compiler/tools.py", True),
        ("conformance/verdict.py", True),
    ],
)
def test_a_stack_tells_whose_time_it_was(innermost: str, ours: bool) -> None:
    innermost = f"{PACKAGE}/{innermost}"
    assert own_code(stack_of(innermost)) == (f"{innermost}:7" if ours else "")


def test_a_folder_of_a_user_may_have_the_same_name() -> None:
    assert own_code(stack_of("/x/vkgroup/compiler/hang.py")) == f"{PACKAGE}/conformance/run.py:9"


def stack_of(innermost: str) -> str:
    """Return a worker's stack as `faulthandler` writes it."""
    return (
        'Thread 0x1 (most recent call first):\n  File "/x/vkgroup/workers/worker.py", line 50 in _read\n\n'
        'Current thread 0x2 (most recent call first):\n  File "/lib/python/selectors.py", line 4 in select\n'
        f'  File "{innermost}", line 7 in f\n'
        f'  File "{PACKAGE}/conformance/run.py", line 9 in execute_batch\n'
        f'  File "{PACKAGE}/workers/worker.py", line 80 in serve\n  File "<string>", line 1 in <module>\n'
    )


def test_without_a_stack_the_worker_is_in_a_driver() -> None:
    assert own_code("") == ""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DriverError("a call failed", "VK_ERROR_UNKNOWN"), True),
        (DeviceLost("gone"), True),
        (DispatchTimeout("no end"), True),
        (DriverError("The buffer is closed; make a new one."), False),
        (OutOfMemory("no memory", "VK_ERROR_OUT_OF_HOST_MEMORY"), False),
        (ValidationError("wrong use", "VK_ERROR_VALIDATION_FAILED"), False),
        (InvalidDispatch("wrong"), False),
        (Unsupported("lacking"), False),
        (MemoryError(), False),
    ],
)
def test_errors_of_the_device(error: Exception, expected: bool) -> None:
    assert is_device_error(error) is expected
