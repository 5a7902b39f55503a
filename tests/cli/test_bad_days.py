"""Bad days: signals in every phase, full disks, folders that cannot be written, no home, clocks that jump.

Nothing that was measured is lost, the message says what to do, and no process stays behind.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from vkgroup import conformance, files
from vkgroup.check import checking
from vkgroup.check.runs import Dispatch
from vkgroup.cli import conform_run as command
from vkgroup.cli.main import main
from vkgroup.conformance import select
from vkgroup.device import Capabilities
from vkgroup.device.manifests import find_manifests
from vkgroup.errors import InvalidInput
from vkgroup.opening import select as select_device
from vkgroup.results.exports import folder as report
from vkgroup.results.journal import RESULTS, Journal
from vkgroup.results.run import Run
from vkgroup.runner import scheduler, worker_process

# Packages have functions of these names.
bench_run = import_module("vkgroup.bench.run")
probe_run = import_module("vkgroup.probe.run")

FILTER = "vote.compute.subgroupAll.bool.*"
SHADER = Path(__file__).parents[1] / "check" / "right" / "binary_search.comp"
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    """Listen to SIGINT, which a shell has what it starts in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signalled(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, number: int, call: int = 1) -> None:
    """Let a signal come in when something is called for the so-many-th time, and has done its work."""
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
    """Run a command that a signal ends; returns what it printed."""
    handlers = [signal.getsignal(one) for one in CODES]
    assert main(words) == CODES[signal.Signals(number)]
    assert [signal.getsignal(one) for one in CODES] == handlers
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    assert "vkgroup: interrupted; " in printed.err
    assert children() == set()
    return printed.out + printed.err


def children() -> set[str]:
    """The names of the processes that this one has started and that still run."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = status.read_text().rpartition(")")
            if int(rest.split()[1]) == os.getpid() and rest.split()[0] != "Z":
                found.add(name + (status.parent / "cmdline").read_text().replace("\0", " "))
    return {name for name in found if "vkgroup.runner" in name}


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
def test_a_run_that_is_interrupted_keeps_what_was_judged(
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


def test_a_check_that_is_interrupted_says_what_it_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shader = SHADER.parents[1] / "wrong" / "everybody_increments.comp"
    signalled(monkeypatch, Dispatch, "run", signal.SIGTERM, 2)
    json_file = tmp_path / "found.json"
    printed = ended(
        capsys, signal.SIGTERM, "check", str(shader), "--device", "none", "--json", str(json_file)
    )
    assert "race" in printed
    assert "interrupted" in printed
    found = json.loads(json_file.read_text())
    assert found["findings"]
    assert ["everything else", "interrupted"] in found["covered"]["not_covered"]


@pytest.mark.usefixtures("swiftshader")
def test_a_check_that_is_interrupted_at_a_device_keeps_the_other_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    signalled(monkeypatch, checking, "run_job", signal.SIGINT)
    printed = ended(
        capsys, signal.SIGINT, "check", str(SHADER), "--device", "swiftshader", "--subgroup-size", "4"
    )
    assert "size 4" in printed


def test_a_benchmark_that_is_interrupted_keeps_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.json"
    signalled(monkeypatch, bench_run, "measure", signal.SIGTERM, 2)
    words = ("bench", "scan", "--device", "reference", "--smoke", "--peers", "none", "--json", str(file))
    printed = ended(capsys, signal.SIGTERM, *words)
    assert f"1 row measured until then: above and in {file}" in printed
    assert len({entry["run_name"] for entry in json.loads(file.read_text())["benchmarks"]}) >= 1


def test_a_probe_that_is_interrupted_keeps_what_it_observed(
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
    """Nobody has to wait for a driver that hangs while a command ends in order."""
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


def test_a_signal_before_the_command_line_listens_is_silent() -> None:
    """While modules are loaded nothing is measured: the process ends as by any signal."""
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


# --- disks and folders --------------------------------------------------------------------------------


def said(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    """Run a command that cannot write; returns what it says."""
    assert main(words) == code
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    return printed.err


@pytest.mark.usefixtures("swiftshader")
def test_a_full_disk_ends_a_run_that_can_be_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, before[1]))
    try:
        error = said(capsys, 2, *conform(out))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "make room" in error
    assert "--resume" in error
    kept = (out / RESULTS).read_text().splitlines()
    assert len(kept) > 1
    assert main(conform(out, "--resume")) == 0
    lines = (out / RESULTS).read_text().splitlines()
    assert lines[: len(kept) - 1] == kept[:-1]
    assert sorted(json.loads(line)["case"] for line in lines) == sorted(
        case.name for case in select((FILTER,))
    )


@pytest.mark.usefixtures("swiftshader")
def test_a_device_without_room_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / RESULTS).symlink_to("/dev/full")
    assert "make room" in said(capsys, 2, *conform(tmp_path))
    shader = str(SHADER)
    check = ("check", shader, "--device", "none", "--subgroup-size", "4", "--json", "/dev/full")
    assert "/dev/full cannot be written: No space left" in said(capsys, 2, *check)
    assert "cannot be written" in said(capsys, 2, "compile", shader, "-o", "/dev/full")


def test_a_summary_without_room_leaves_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "summary.json"
    files.write_whole(file, "before")

    def full(path: Path, text: str, **_: str) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(InvalidInput, match="No space left"):
        report.write_summary(conformance.Run(Capabilities("x", "cpu"), 0, 1, ""), file)
    assert file.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["summary.json"]


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A folder that cannot be written: root may write into any but what the kernel makes up."""
    if os.geteuid() == 0:
        yield Path("/proc/self")
        return
    tmp_path.chmod(0o500)
    yield tmp_path
    tmp_path.chmod(0o700)


@pytest.mark.usefixtures("swiftshader")
def test_folders_that_cannot_be_written_are_named(
    unwritable: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = unwritable / "run"
    error = said(capsys, 2, *conform(run))
    assert f"cannot write results into {run}" in error
    assert "--out" in error
    error = said(capsys, 2, "compile", str(SHADER), "-o", str(unwritable / "a.spv"))
    assert "cannot be written" in error


def test_a_cache_that_cannot_be_written_is_none(
    unwritable: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(unwritable / "cache"))
    assert main(["compile", str(SHADER)]) == 0
    assert "Set VKGROUP_CACHE" in said(capsys, 3, "drivers", "fetch", "swiftshader")


def test_a_user_without_a_home_has_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "VKGROUP_CACHE", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.chdir(tmp_path)
    assert files.expanded("~/x") == Path("~/x")
    assert all(manifest.path.is_absolute() for manifest in find_manifests())
    assert main(["compile", str(SHADER)]) == 0
    assert main(["devices"]) == 0
    assert "Set VKGROUP_CACHE" in said(capsys, 3, "drivers", "fetch", "swiftshader")
    assert main(["run", str(SHADER), "--groups", "1", "--device", "~nobody/x.json"]) == 3
    assert os.listdir(tmp_path) == []


# --- clocks -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("swiftshader")
def test_a_clock_that_jumps_changes_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = itertools.cycle((1e9, -1e9, 0.0))
    honest = time.time
    monkeypatch.setattr(time, "time", lambda: honest() + next(jumps))
    device = select_device("swiftshader")
    found = conformance.run(device, filters=(FILTER,), jobs=1, out=tmp_path, timeout=30.0)
    assert not found.failures
    assert 0 < found.seconds < 120
    assert all(0 <= result.seconds < 60 for result in found.results)


def test_two_runs_of_one_second_have_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Stopped:
            return cls(2026, 1, 1)

    monkeypatch.setattr(command, "datetime", Stopped)
    monkeypatch.chdir(tmp_path)
    first = command.default_folder("A device")
    assert first == command.default_folder("A device")
    first.mkdir(parents=True)
    assert command.default_folder("A device") == first.with_name(f"{first.name}-2")
