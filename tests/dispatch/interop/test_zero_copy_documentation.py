"""Run the examples of docs/python/sharing-memory.md unchanged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[3] / "docs/python/sharing-memory.md"


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert code is not None
    exec(compile(code[1], str(DOCUMENT), "exec"), {})
    said = re.search(r"print\(.*\)\s+# (.*)", code[1])
    assert said is not None
    assert capsys.readouterr().out == said[1] + "\n"
