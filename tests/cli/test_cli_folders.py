"""Folders of runs as an ordinary user finds them: read-only, of another user, in use by another run."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from vkgroup.base import processes
from vkgroup.cli.main import main
from vkgroup.record.journal import RESULTS

CASE = "vote.compute.subgroupAll.bool.all.exact"
CONFORM = ("conform", "--device", "reference", "--jobs", "1", "--filter", CASE, "--out")
USER = 54321
"""A user without files, for tests that run as root."""

_CAPABILITY = "-all,+dac_read_search"
"""The clone and Python may lie in root's folder; reading them is allowed, writing is not."""


def as_user(words: tuple[str, ...], folder: Path) -> tuple[int, str]:
    """Run a command as an ordinary user in a folder; return the exit code and the message."""
    command = [*processes.command("vkgroup"), *words]
    if os.getuid() == 0:
        user = ["--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
        rights = [f"--inh-caps={_CAPABILITY}", f"--ambient-caps={_CAPABILITY}"]
        command = ["setpriv", *user, *rights, "--", *command]
    environment = {**processes.environment(), "HOME": str(folder), "VKGROUP_CACHE": str(folder / "cache")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a finished run that an ordinary user can only read."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    for parent in folder.parents[:3]:
        parent.chmod(0o755)
    assert main([*CONFORM, str(folder)]) == 0
    assert main(["history", "add", str(folder / "runs.db"), str(folder)]) == 0
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder of the ordinary user."""
    folder = tmp_path_factory.mktemp("own")
    if os.getuid() == 0:
        os.chown(folder, USER, USER)
    return folder


def content(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the files of a folder with their times and contents."""
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*CONFORM, "RUN"), "cannot write results into"),
        ((*CONFORM, "RUN", "--resume"), "cannot write results into"),
        ((*CONFORM, "RUN/new"), "cannot write results into"),
        ((*CONFORM, "out", "--db", "RUN/runs.db"), "cannot be written"),
        (("conform", "--device", "reference", "--repro", CASE, "RUN/repro"), "RUN/repro"),
        (("report", "RUN", "-o", "RUN/report.html"), "cannot write"),
        (("history", "add", "RUN/runs.db", "RUN"), "cannot be written"),
        (("history", "export", "--db", "RUN/runs.db", "latest", "RUN/export"), ""),
    ],
)
def test_a_read_only_folder_is_an_error_in_one_line(
    words: tuple[str, ...], message: str, run: Path, own: Path
) -> None:
    before = content(run)
    code, error = as_user(tuple(word.replace("RUN", str(run)) for word in words), own)
    assert code == 2, error
    assert message.replace("RUN", str(run)) in error
    assert content(run) == before


def test_a_read_only_folder_can_be_read(run: Path, own: Path) -> None:
    before = content(run)
    for words in (
        ("report", "RUN", "-o", "report.html"),
        ("history", "--db", "RUN/runs.db"),
        ("diff", "RUN", "RUN"),
    ):
        code, error = as_user(tuple(word.replace("RUN", str(run)) for word in words), own)
        assert code == 0, error
    assert (own / "report.html").is_file()
    assert content(run) == before


def test_overwrite_replaces_an_earlier_run_and_no_other_file(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    for name in (RESULTS, "report.html", "notes.txt"):
        (out / name).write_text("earlier\n")
    assert main([*CONFORM, str(out)]) == 2
    assert main([*CONFORM, str(out), "--overwrite", "--resume"]) == 2
    assert (out / RESULTS).read_text() == "earlier\n"
    assert main([*CONFORM, str(out), "--overwrite"]) == 0
    assert "earlier" not in (out / RESULTS).read_text()
    assert (out / "notes.txt").read_text() == "earlier\n"
    assert not (out / "report.html").exists()


@pytest.mark.parametrize("resume", [(), ("--resume",), ("--overwrite",)])
def test_a_run_that_another_process_writes_is_not_changed(
    resume: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main([*CONFORM, str(out)]) == 0
    shutil.copytree(out, tmp_path / "copy")
    with (out / RESULTS).open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = content(out)
        capsys.readouterr()
        assert main([*CONFORM, str(out), *resume]) == 2
        assert "another run is writing into" in capsys.readouterr().err
        assert content(out) == before
    assert main([*CONFORM, str(out), "--resume"]) == 0
