"""Verdicts on shaders of public reports, and on right and wrong shaders that are difficult to judge."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_FOLDER = Path(__file__).parent / "verdicts"
_VERDICTS: dict[str, list[Any]] = tomllib.loads((_FOLDER / "verdicts.toml").read_text("utf-8"))


def test_each_shader_has_a_verdict() -> None:
    files = {str(path.relative_to(_FOLDER)) for path in _FOLDER.glob("*/*")}
    assert files == _VERDICTS.keys()


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("name", _VERDICTS)
@pytest.mark.usefixtures("current_glslang")
def test_a_shader_gets_its_verdict(name: str, checked: Callable[..., dict[str, Any]]) -> None:
    code, *expected = _VERDICTS[name]
    report = checked(_FOLDER / name)
    found = [f"{finding['kind']} {finding['place']['line']}" for finding in report.get("findings", ())]
    found += ["question"] * len(report.get("questions", ()))
    assert (report["code"], found) == (code, expected)
