"""Full disks, folders that cannot be written, a user without a home folder."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from vkgroup import conformance, drivers
from vkgroup.base import files
from vkgroup.base.errors import InvalidInput
from vkgroup.cli import conform_run as command
from vkgroup.cli.main import main
from vkgroup.conformance import select
from vkgroup.device import Capabilities
from vkgroup.device.manifests import find_manifests
from vkgroup.outputs.exports import folder as report
from vkgroup.outputs.history import Database
from vkgroup.outputs.history.connection import DatabaseError
from vkgroup.record.journal import RESULTS
from vkgroup.workers.opening import select as select_device
from vkgroup.workers.scheduler import read_capabilities

FILTER = "vote.compute.subgroupAll.bool.*"
SHADER = Path(__file__).parents[1] / "check" / "right" / "binary_search.comp"


def conform(out: Path, *more: str) -> tuple[str, ...]:
    words = ("conform", "--device", "swiftshader", "--jobs", "1", "--filter", FILTER)
    return (*words, "--out", str(out), *more)


def said(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    """Run a command that cannot write; return its message."""
    assert main(words) == code
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    return printed.err


@contextmanager
def room(size: int) -> Iterator[None]:
    """Limit the size of files in bytes, as on a full disk.

    Python would store its bytecode in part (its `_write_atomic` ignores a short write), which then fails.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("swiftshader")
def test_a_run_ended_by_a_full_disk_can_be_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    # SwiftShader's compiler ends the process if the limit stops its files in memory.
    read_capabilities(select_device("swiftshader"))
    with room(700):
        error = said(capsys, 2, *conform(out))
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


def test_a_full_device_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shader = str(SHADER)
    check = ("check", shader, "--device", "none", "--subgroup-size", "4", "--json", "/dev/full")
    assert "/dev/full cannot be written: No space left" in said(capsys, 2, *check)
    assert "cannot be written" in said(capsys, 2, "compile", shader, "-o", "/dev/full")


@pytest.mark.parametrize("words", ["--help", "--version", "check --help", "diff -h", "devices"])
def test_output_on_a_full_disk_is_an_error(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "vkgroup", *words.split()], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert run.returncode == 2
    assert "No space left on device" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_full_cache_of_drivers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error of a full disk names no file where the copy was made by the kernel."""
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path))

    def full(names: object, progress: object) -> Iterator[object]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield

    monkeypatch.setattr(drivers, "fetch_all", full)
    error = said(capsys, 2, "drivers", "fetch", "swiftshader")
    assert f"{tmp_path}/drivers cannot be written: No space left on device" in error
    assert "VKGROUP_CACHE" in error


def test_a_summary_on_a_full_disk_keeps_the_previous_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "summary.json"
    files.write_whole(file, "before")

    def full(path: Path, text: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_write", full)
    with pytest.raises(InvalidInput, match="No space left"):
        report.write_summary(conformance.Run(Capabilities("x", "cpu"), 0, 1, ""), file)
    assert file.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["summary.json"]


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A folder that cannot be written. For root, only a virtual file system of the kernel is one."""
    if os.geteuid() == 0:
        yield Path("/proc/self")
        return
    tmp_path.chmod(0o500)
    yield tmp_path
    tmp_path.chmod(0o700)


@pytest.mark.usefixtures("swiftshader")
def test_the_error_names_a_folder_that_cannot_be_written(
    unwritable: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = unwritable / "run"
    error = said(capsys, 2, *conform(run))
    assert f"cannot write results into {run}" in error
    assert "--out" in error
    error = said(capsys, 2, "compile", str(SHADER), "-o", str(unwritable / "a.spv"))
    assert "cannot be written" in error


@pytest.mark.parametrize("size", [4096, 16384 + 100])
def test_an_array_that_does_not_fit_on_the_disk_is_an_error(
    size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last bytes of an array are not in a block of their own, and are written when the file is closed."""
    shader = tmp_path / "a.comp"
    shader.write_text("""#version 450
        layout(local_size_x = 64) in;
        layout(binding = 0) buffer B { uint x[]; };
        void main() { x[gl_GlobalInvocationID.x] = 1u; }""")
    file = tmp_path / "x.npy"
    words = ("run", str(shader), "--groups", "64", "--device", "reference:8", "--out", f"B=uint[4096]:{file}")
    with room(size):
        assert f"{file} cannot be written: File too large" in said(capsys, 2, *words)


def test_a_database_that_does_not_fit_on_the_disk_is_not_called_damaged(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    with room(4096), pytest.raises(DatabaseError) as raised:
        Database(file, write=True)
    assert "cannot be read or written: disk I/O error" in str(raised.value)


def test_a_cache_that_cannot_be_written_is_not_used(
    unwritable: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(unwritable / "cache"))
    assert main(["compile", str(SHADER)]) == 0
    assert "Set VKGROUP_CACHE" in said(capsys, 3, "drivers", "fetch", "swiftshader")


def test_a_user_without_a_home_folder_has_no_cache(
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


def test_two_runs_started_in_one_second_have_two_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
