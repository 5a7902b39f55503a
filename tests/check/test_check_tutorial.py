"""The shaders of the example pages give the findings that the pages print; corrected, they give none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vkgroup.cli.main import main

_PAGES = ("findings.md", "fragments.md", "questions.md")
_ROOT = Path(__file__).parents[2]
_TEXT = "".join((_ROOT / "docs/shaders" / page).read_text() for page in _PAGES)


def _blocks(language: str) -> dict[str, str]:
    found = re.findall(rf"^```{language} (\S+)\n(.*?)^```$", _TEXT, re.MULTILINE | re.DOTALL)
    return dict(found)


def _mended(shader: str, diff: str) -> str:
    for before, after in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", diff, re.MULTILINE):
        old, new = (re.sub(r"^[-+]", "", part, flags=re.MULTILINE) for part in (before, after))
        assert shader.count(old) == 1
        shader = shader.replace(old, new)
    return shader


def _code(name: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Check a shader of a page, compare the output with that on the page, and return the exit code."""
    Path(name).write_text(_blocks("glsl")[name])
    code = main(["check", name, "--device", "none"])
    printed, position = capsys.readouterr().out, 0
    command, _, shown = _blocks("text")[name].partition("\n")
    assert command == f"$ vkgroup check {name} --device none"
    for part in shown.split("…\n"):  # stands for lines that the page leaves out
        position = printed.find(part, position)
        assert position >= 0, part
    return code


@pytest.mark.parametrize(
    "name", ["sum.comp", "average.comp", "nearest.comp", "detail.frag", "butterfly.comp"]
)
def test_the_tutorial_is_what_check_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _code(name, capsys) == 1
    shader = _blocks("glsl")[name]
    Path(name).write_text(_mended(shader, _blocks("diff")[name]))
    assert main(["check", name, "--device", "none"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_a_question_is_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _code("rows.comp", capsys) == 0
    assert main(["check", "rows.comp", "--device", "none", "--strict"]) == 1


def test_a_folder_gives_the_lines_of_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(_ROOT)
    text = (_ROOT / "docs/shaders/configuration.md").read_text("utf-8")
    ((command, shown),) = re.findall(r"```text\n\$ vkgroup (check [^\n]*)\n(.*?)```", text, re.DOTALL)
    assert main([*command.split(), "--no-cache", "--jobs", "2"]) == 1
    printed = capsys.readouterr().out
    for line in shown.splitlines():
        # The order of the lines differs from run to run.
        for part in re.split(r"^\[\d/2\] |…", line):
            assert part.strip() in printed
