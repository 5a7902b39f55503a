"""Fixtures of the tests of `vkgroup check`: write a shader, run the command on a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vkgroup.cli.main import main

Checker = Callable[..., dict[str, Any]]


@pytest.fixture
def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Checker:
    """Run ``vkgroup check`` on a file without real devices unless told otherwise; return its JSON."""

    def run(shader: Path, *words: str, devices: tuple[str, ...] = ("none",)) -> dict[str, Any]:
        file = tmp_path / "report.json"
        chosen = [word for device in devices for word in ("--device", device)]
        code = main(["check", str(shader), "--json", str(file), *chosen, *words])
        captured = capsys.readouterr()
        report: dict[str, Any] = json.loads(file.read_text()) if code in (0, 1) else {}
        return {**report, "code": code, "text": captured.out, "error": captured.err}

    return run


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write a shader and return its file."""

    def write(text: str, name: str = "shader.comp") -> Path:
        file = tmp_path / name
        file.write_text(text)
        return file

    return write
