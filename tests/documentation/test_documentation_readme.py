"""The README and its Python example; commands on pages, with the output that they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
MORE = "…"
"""Stands for output that the README leaves out."""


def _sessions(page: str) -> dict[str, str]:
    """Return the commands of vkgroup on a page with the output that it shows."""
    text = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    pattern = re.compile(r"^\$ (vkgroup .*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
    return {command: output for _, block in blocks for command, output in pattern.findall(block)}


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
    ("page", "name", "code"),
    [
        ("README.md", "probe", 0),
        ("README.md", "check", 1),
        ("README.md", "run", 0),
        ("docs/guides/judging.md", "conform", 1),
    ],
)
def test_a_command_prints_what_the_page_shows(
    page: str,
    name: str,
    code: int,
    swiftshader: CachedDriver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("VKGROUP_DEVICE", swiftshader.name)
    monkeypatch.chdir(tmp_path)
    for folder in ("shaders", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    np.save("values.npy", np.arange(2048, dtype=np.uint32))
    monkeypatch.setenv("COLUMNS", "100")
    ((command, shown),) = (session for session in _sessions(page).items() if session[0].split()[1] == name)
    assert main(shlex.split(command)[1:]) == code
    output = capsys.readouterr()
    printed = "\n".join(line.rstrip() for line in (output.out + output.err).splitlines())
    position = 0
    for part in shown.split(MORE):
        position = printed.find(part.strip("\n"), position)
        assert position >= 0, part


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
