"""The README and its Python example; commands on pages, with the output that they show."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vkgroup.cli.conform_end import _print_summary
from vkgroup.cli.console import Console
from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
MORE = "…"
"""Stands for output that the README leaves out."""


def _sessions(page: str) -> list[dict[str, str]]:
    """Return the commands of each block of a page, with the output that the page shows."""
    text = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```.*?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    pattern = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
    return [dict(pattern.findall(block)) for block in blocks]


def _shaders(page: str) -> dict[str, str]:
    """Return the shaders of a page by their file names."""
    text = (ROOT / page).read_text("utf-8")
    return dict(re.findall(r"^```glsl (\S+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def _run(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit code of a command of vkgroup or Python, and what it prints."""
    program, *words = shlex.split(command.replace("\\\n", " "))
    if program == "vkgroup":
        code, printed = main(words), capsys.readouterr()
        return code, "\n".join(line.rstrip() for line in (printed.out + printed.err).splitlines())
    assert program == "python"
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_it_is_short() -> None:
    assert len(README.split()) <= 700


def test_the_python_example_prints_what_it_says(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("VKGROUP_DEVICE", swiftshader.name)
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    expected = re.search(r"print\(.*\)\s+# (.*)", code)
    assert expected is not None
    assert capsys.readouterr().out == expected[1] + "\n"


@pytest.mark.parametrize(
    ("page", "command", "code"),
    [
        ("README.md", "probe", 0),
        ("README.md", "check", 1),
        ("README.md", "run", 0),
        ("docs/start/getting-started.md", "devices", 0),
        ("docs/start/getting-started.md", "run", 0),
        ("docs/start/probing.md", "probe", 0),
        ("docs/conformance/testing-a-driver.md", "conform", 1),
        ("docs/conformance/reproduction.md", "run all-equal --device swiftshader", 0),
        ("docs/conformance/extensions.md", "run vote.comp", 0),
        ("docs/benchmarks/index.md", "bench", 0),
    ],
)
def test_a_command_prints_what_the_page_shows(
    page: str,
    command: str,
    code: int,
    swiftshader: CachedDriver,
    lavapipe: CachedDriver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The commands of the block with a command run in order; the last one ends with the code."""
    monkeypatch.setenv("VKGROUP_DEVICE", swiftshader.name)
    monkeypatch.chdir(tmp_path)
    for folder in ("shaders", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    np.save("values.npy", np.arange(2048, dtype=np.uint32))
    for name, text in _shaders(page).items():
        Path(name).write_text(text)
    monkeypatch.setenv("COLUMNS", "100")
    start = f"vkgroup {command}"
    (block,) = (block for block in _sessions(page) if any(line.startswith(start) for line in block))
    # The cache has the drivers that the block names.
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache/drivers").mkdir(parents=True)
    for driver in (swiftshader, lavapipe):
        if driver is swiftshader or driver.family in "".join(block):
            (tmp_path / "cache/drivers" / driver.name).symlink_to(driver.folder)
    for line, shown in block.items():
        last, printed = _run(line, capsys)
        position = 0
        for part in shown.split(MORE):
            position = printed.find(part.strip("\n"), position)
            assert position >= 0, f"{line}\n{part}\n{printed}"
    assert last == code


def test_the_installation_page_shows_the_last_lines_of_the_recorded_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    summary = json.loads((ROOT / "bench/results/swiftshader/summary.json").read_text("utf-8"))
    run: Any = SimpleNamespace(summary=summary, causes=[])
    report = Path("vkgroup-results/…/report.html")
    _print_summary(run, 0, 0, report, Console(stderr=False, highlight=False), empty=False)
    printed = capsys.readouterr().out.strip("\n")
    assert f"```\n{printed}\n```" in (ROOT / "docs/start/install.md").read_text("utf-8")


def test_the_conform_example_gives_the_verdicts_in_the_picture(
    swiftshader: CachedDriver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The picture docs/images/conform.png shows 13 passes and the failure of one case."""
    monkeypatch.setenv("VKGROUP_DEVICE", swiftshader.name)
    monkeypatch.chdir(tmp_path)
    command = re.search(r"^vkgroup (conform .*)$", README, re.MULTILINE)
    assert command is not None
    assert main([*shlex.split(command[1]), "--jobs", "1"]) == 1
    printed = capsys.readouterr().out
    assert "`subgroupAllEqual` of vectors compares only the first component" in printed
    assert "only component 0 is compared: 1 of 1 cases, 24 of 24 wrong lanes" in printed
    assert re.search(r"total +│ +13 │ +1 │ +0 │ +1 │", printed)
