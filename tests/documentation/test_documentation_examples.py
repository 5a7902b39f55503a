"""The examples in the documentation print what the pages say."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.cli.main import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples"
PICTURES = ROOT / "docs/pictures"
PAGE = (ROOT / "docs/python/examples.md").read_text("utf-8")


def test_pages_have_the_files_that_they_show() -> None:
    command = [sys.executable, "tests/documentation/included.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_page_has_a_directive_of_snippets() -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        assert not re.search("-{2}8 *<", path.read_text("utf-8")), path


def test_there_are_ten_and_all_are_in_the_page() -> None:
    names = [path.name for path in EXAMPLES.glob("*.py")]
    assert len(names) == 10
    assert all(f'"docs/examples/{name}"' in PAGE for name in names)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_prints_what_the_page_says(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == path.with_suffix(".txt").read_text("utf-8")


def test_lanes_are_printed_as_the_page_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PICTURES)
    page = (ROOT / "docs/shaders/trace.md").read_text("utf-8")
    (command,) = re.findall(r"^\$ vkgroup (run .*--lanes)$", page, re.MULTILINE)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == (PICTURES / "lanes.txt").read_text("utf-8")


@pytest.mark.parametrize(("name", "code"), [("average", 1), ("average_corrected", 0)])
def test_the_shaders_are_checked_as_the_page_says(
    name: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(EXAMPLES)
    assert main(["check", f"{name}.comp", "--device", "none"]) == code
    assert capsys.readouterr().out == (EXAMPLES / f"{name}.txt").read_text("utf-8")
