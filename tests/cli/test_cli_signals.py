"""Signals in every phase of a command: results are kept, the message says how to go on, workers end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from vkgroup.check import state
from vkgroup.check.runs import CheckedDispatch
from vkgroup.cli import deadline
from vkgroup.cli.main import BAD_INPUT, VERDICT, main
from vkgroup.conformance import select
from vkgroup.record.journal import RESULTS, Journal
from vkgroup.record.run import Run
from vkgroup.workers import scheduler, worker_process

# Packages have functions of these names.
cli_check = import_module("vkgroup.cli.check")
bench_run = import_module("vkgroup.bench.run")
probe_run = import_module("vkgroup.probe.run")

FILTER = "vote.compute.subgroupAll.bool.*"
SHADER = Path(__file__).parents[1] / "check" / "right" / "binary_search.comp"
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(autouse=True)
def sigint_handled() -> Iterator[None]:
    """Handle SIGINT, which a process that a shell starts in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signalled(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, number: int, call: int = 1) -> None:
    """Send a signal to this process after a function has returned for the `call`-th time."""
    honest, calls = getattr(owner, name), []

    def wrapper(*given: Any, **options: Any) -> Any:
        found = honest(*given, **options)
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), number)
            # A signal to another thread reaches the main thread after some time.
            time.sleep(0.01)
        return found

    monkeypatch.setattr(owner, name, wrapper)


def ended(capsys: pytest.CaptureFixture[str], number: int, *words: str) -> str:
    """Run a command that a signal ends; return its output."""
    handlers = [signal.getsignal(one) for one in CODES]
    assert main(words) == CODES[signal.Signals(number)]
    assert [signal.getsignal(one) for one in CODES] == handlers
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    assert "vkgroup: interrupted; " in printed.err
    assert children() == set()
    return printed.out + printed.err


def children() -> set[str]:
    """The names of the running worker processes of this process."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = status.read_text().rpartition(")")
            if int(rest.split()[1]) == os.getpid() and rest.split()[0] != "Z":
                found.add(name + (status.parent / "cmdline").read_text().replace("\0", " "))
    return {name for name in found if "vkgroup.workers" in name}


def conform(out: Path, *more: str) -> tuple[str, ...]:
    words = ("conform", "--device", "swiftshader", "--jobs", "1", "--filter", FILTER)
    return (*words, "--out", str(out), *more)


PHASES: dict[str, tuple[Any, str, int]] = {
    "before the device opens": (scheduler, "open_device", 1),
    "while workers start": (worker_process, "send", 1),
    "after the first batch": (Journal, "append", 2),
    "before the summary": (Run, "summarize", 1),
}


@pytest.mark.usefixtures("swiftshader")
@pytest.mark.parametrize("phase", PHASES)
def test_an_interrupted_run_keeps_its_results(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    number = signal.SIGTERM if phase in ("while workers start", "before the summary") else signal.SIGINT
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        signalled(patch, PHASES[phase][0], PHASES[phase][1], number, PHASES[phase][2])
        printed = ended(capsys, number, *conform(out))
    if phase == "before the device opens":
        assert "nothing was judged yet" in printed
        return
    assert f"the same command and --resume --out {out}" in printed
    lines = (out / RESULTS).read_text().splitlines()
    assert len(lines) == len({json.loads(line)["case"] for line in lines})
    assert not any('"Crash"' in line for line in lines)
    if phase == "after the first batch":
        assert any('"Pass"' in line for line in lines)
    if phase == "before the summary":
        # Everything was judged: to go on takes no worker, and writes the summary.
        monkeypatch.setattr(worker_process, "WorkerProcess", None)
        assert main(conform(out, "--resume")) == 0
        assert json.loads((out / "summary.json").read_text())["cases"] == len(select((FILTER,)))


def test_an_interrupted_check_prints_its_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shader = SHADER.parents[1] / "wrong" / "blur_in_place.comp"
    # The first runs find out how long the arrays must be.
    signalled(monkeypatch, CheckedDispatch, "run", signal.SIGTERM, 7)
    json_file = tmp_path / "found.json"
    printed = ended(
        capsys, signal.SIGTERM, "check", str(shader), "--device", "none", "--json", str(json_file)
    )
    assert "race" in printed
    assert "interrupted" in printed
    found = json.loads(json_file.read_text())
    assert found["findings"]
    assert ["everything else", "interrupted"] in found["covered"]["not_covered"]


def test_the_deadline_keeps_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The alarm of the deadline rings during the runs: findings until then, no verdict for the rest."""
    shader = SHADER.parents[1] / "wrong" / "blur_in_place.comp"
    signalled(monkeypatch, CheckedDispatch, "run", signal.SIGALRM, 7)
    json_file = tmp_path / "found.json"
    assert main(["check", str(shader), "--device", "none", "--json", str(json_file)]) == 1
    assert "race" in capsys.readouterr().out
    found = json.loads(json_file.read_text())
    assert found["findings"]
    (late,) = found["no_verdict"]
    assert late.startswith("no end within 300 s, while executing on the reference device at size ")
    assert ["everything else", late] in found["covered"]["not_covered"]


@pytest.mark.usefixtures("swiftshader")
def test_a_check_interrupted_on_a_device_keeps_the_other_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    signalled(monkeypatch, state, "run_job", signal.SIGINT)
    printed = ended(
        capsys, signal.SIGINT, "check", str(SHADER), "--device", "swiftshader", "--subgroup-size", "4"
    )
    assert "size 4" in printed


def test_an_interrupted_benchmark_keeps_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.json"
    signalled(monkeypatch, bench_run, "measure", signal.SIGTERM, 2)
    words = ("bench", "scan", "--device", "reference", "--smoke", "--peers", "none", "--json", str(file))
    printed = ended(capsys, signal.SIGTERM, *words)
    assert f"1 row measured until then: above and in {file}" in printed
    assert len({entry["run_name"] for entry in json.loads(file.read_text())["benchmarks"]}) >= 1


def test_an_interrupted_probe_keeps_its_observations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "probe.json"
    signalled(monkeypatch, probe_run, "_outcome", signal.SIGINT, 2)
    printed = ended(capsys, signal.SIGINT, "probe", "--device", "reference", "--json", str(file))
    assert "run the command again for all of them" in printed
    found = [one["status"] for one in json.loads(file.read_text())["experiments"].values()]
    assert found[0] != "not_run"
    assert set(found[1:]) == {"not_run"}


def test_a_second_signal_ends_the_process() -> None:
    """The second signal does not wait for a driver that hangs."""
    code = (
        "import os, signal, sys\n"
        "from vkgroup.cli.signals import orderly\n"
        "with orderly():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    except KeyboardInterrupt:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    "dropping",
    [
        "class Held:\n    def __del__(self): signal.raise_signal(signal.SIGINT)\nheld = Held()",
        "@called_from_c\ndef held(): signal.raise_signal(signal.SIGINT)\n",
        "keys = weakref.WeakKeyDictionary()\nclass Held: pass\nheld = Held(); keys[held] = Bad()",
    ],
    ids=["finalizer", "callback", "weak"],
)
def test_a_signal_where_python_drops_exceptions_is_sent_again(dropping: str) -> None:
    """Without that, the exception is printed, and the command goes on."""
    code = (
        "import signal, time, weakref\n"
        "from vkgroup.base.unraisable import called_from_c\n"
        "from vkgroup.cli.signals import orderly\n"
        "class Bad:\n    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        f"{dropping}\n"
        "try:\n"
        "    with orderly():\n"
        "        held() if callable(held) else None\n"
        "        del held\n"
        "        time.sleep(20)\n"
        "except KeyboardInterrupt:\n"
        "    print('ended')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("ended\n", "")


def test_a_signal_during_imports_ends_the_process_silently() -> None:
    """There are no results yet, so the process ends with the default action."""
    code = (
        "import os, signal, sys\n"
        "import vkgroup.__main__ as entry\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'vkgroup.cli.main':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "entry.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def _failing_import(monkeypatch: pytest.MonkeyPatch, number: int | None) -> None:
    """Let `check` end with an ImportError, after a signal whose exception is lost, as in NumPy's import."""

    def execute(_: object) -> int:
        with suppress(KeyboardInterrupt):
            if number is not None:
                os.kill(os.getpid(), number)
        raise ImportError("the C extensions failed")

    monkeypatch.setattr(cli_check, "execute", execute)


@pytest.mark.parametrize("option", [[], ["--no-validate"]], ids=["plain", "no-validate"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_turns_into_an_import_error(
    number: signal.Signals,
    option: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _failing_import(monkeypatch, number)
    assert main(["check", str(SHADER), *option]) == CODES[number]
    assert capsys.readouterr().err == "vkgroup: interrupted\n"


def test_a_deadline_that_a_library_turns_into_an_import_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing_import(monkeypatch, None)
    monkeypatch.setattr(deadline, "reached", lambda: True)
    assert main(["check", str(SHADER)]) in (BAD_INPUT, VERDICT)
    printed = capsys.readouterr().err
    assert "no end within" in printed
    assert "internal error" not in printed


def test_an_import_error_without_a_signal_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing_import(monkeypatch, None)
    assert main(["check", str(SHADER)]) == BAD_INPUT
    assert "internal error" in capsys.readouterr().err
