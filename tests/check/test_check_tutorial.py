"""The shaders of the example pages give the findings that the pages print; corrected, they give none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vkgroup.cli.main import main

_PAGES = ("findings.md", "fragments.md")
_TEXT = "".join((Path(__file__).parents[2] / "docs" / "shaders" / page).read_text() for page in _PAGES)


def _blocks(language: str) -> dict[str, str]:
    found = re.findall(rf"^```{language} (\S+)\n(.*?)^```$", _TEXT, re.MULTILINE | re.DOTALL)
    return dict(found)


def _mended(shader: str, diff: str) -> str:
    for before, after in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", diff, re.MULTILINE):
        old, new = (re.sub(r"^[-+]", "", part, flags=re.MULTILINE) for part in (before, after))
        assert shader.count(old) == 1
        shader = shader.replace(old, new)
    return shader


@pytest.mark.parametrize("name", ["sum.comp", "average.comp", "nearest.comp", "detail.frag"])
def test_the_tutorial_is_what_check_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shader = _blocks("glsl")[name]
    Path(name).write_text(shader)
    assert main(["check", name, "--device", "none"]) == 1
    printed, position = capsys.readouterr().out, 0
    command, _, shown = _blocks("text")[name].partition("\n")
    assert command == f"$ vkgroup check {name} --device none"
    for part in shown.split("…\n"):  # stands for lines that the page leaves out
        position = printed.find(part, position)
        assert position >= 0, part
    Path(name).write_text(_mended(shader, _blocks("diff")[name]))
    assert main(["check", name, "--device", "none"]) == 0
    assert "nothing found" in capsys.readouterr().out
