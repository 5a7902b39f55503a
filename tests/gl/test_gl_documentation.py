"""Check the statements and examples of docs/python/gl.md and docs/shaders/languages.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import gl_limits
from vkgroup.dispatch.reference.capabilities import capabilities_of

_DOCS = Path(__file__).parents[2] / "docs"
_PAGE = (_DOCS / "python/gl.md").read_text(encoding="utf-8")


def test_the_table_of_limits() -> None:
    """Names, minima and derivations are those of the code."""
    capabilities: Capabilities = capabilities_of()
    rows = re.findall(r"^\| (MAX_\w+) \| ([\d, x]+) \| (.+) \|$", _PAGE, re.MULTILINE)
    expected = []
    for limit in gl_limits(capabilities).values():
        least = limit.minimum if isinstance(limit.minimum, tuple) else (limit.minimum,)
        expected.append((limit.name, " x ".join(f"{number:,}" for number in least), limit.derivation))
    assert rows == expected


def test_the_first_example(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints what it says."""
    monkeypatch.setenv("VKGROUP_DEVICE", "reference")
    code = re.search(r"```python\n(.*?)```", _PAGE, re.DOTALL)
    assert code is not None
    exec(compile(code[1], "docs/python/gl.md", "exec"), {})
    printed = re.search(r"print\(.*?# (.*)", code[1])
    assert printed is not None
    assert capsys.readouterr().out.strip() == printed[1]


def test_the_example_of_the_compiler() -> None:
    """It compiles the shaders, and its interface has OpenGL's names."""
    code = re.search(r"```python\n(.*?)```", (_DOCS / "shaders/languages.md").read_text("utf-8"), re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    exec(compile(code[1], "docs/shaders/languages.md", "exec"), names)
    assert names["interface"].resource("Data").gl_binding == 1
    assert set(names["modules"]) == {"vertex", "fragment"}
