"""Run the complete examples of docs/python/drawing.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs/python/drawing.md"


def test_the_complete_examples_print_what_they_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_DEVICE", "reference")
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    first, repeated = (block for block in blocks if block.startswith("import numpy"))
    exec(compile(first, str(DOCUMENT), "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1].endswith("[32]")
    exec(compile(repeated, str(DOCUMENT), "exec"), {})
    assert capsys.readouterr().out.splitlines() == ["[64 64 64 64]", "[128 128 128 128]", "[255 255 255 255]"]
