"""Run the examples of docs/ray-tracing.md and docs/ray-tracing-scenes.md, and compare their output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vkgroup.drivers import CachedDriver
from vkgroup.spec.stages import RAY_STAGES

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT, REPEATED = DOCS / "ray-tracing.md", DOCS / "ray-tracing-scenes.md"


def test_the_examples_print_what_they_say(
    lavapipe: CachedDriver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_DEVICE", lavapipe.name)
    text = DOCUMENT.read_text("utf-8")
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, str(DOCUMENT), "exec"), names)
    (code,) = re.findall(r"```python\n(.*?)```", REPEATED.read_text("utf-8"), re.DOTALL)
    exec(compile(code, str(REPEATED), "exec"), names)
    assert isinstance(names["seconds"], float)
    said = re.findall(r"^print\(.*\)\s+# (.*)$", text, re.MULTILINE)
    assert len(said) == len(RAY_STAGES)
    assert capsys.readouterr().out.splitlines() == said
    names["device"].close()  # type: ignore[attr-defined]
