"""Rows of docs/start/robustness.md: the tests and the modules that they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_TABLE = re.compile(r"^\| promise \| mechanism \| test \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
ROWS = [
    row
    for table in _TABLE.findall((ROOT / "docs" / "start" / "robustness.md").read_text())
    for row in table.splitlines()
]
DEFINED = {
    name
    for file in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_tests_and_modules_of_a_promise_exist(row: str) -> None:
    mechanism, tests = row.split("|")[2:4]
    names = re.findall(r"`(test_\w+)`", tests)
    files = re.findall(r"`(tests/[\w/.]+)`", tests)
    assert names or files or "the same" in tests
    assert set(names) <= DEFINED
    modules = re.findall(r"`((?:vkgroup|check|outputs|record|workers)/[\w/.]+)`", mechanism)
    paths = [ROOT / file for file in files]
    paths += [ROOT / "vkgroup" / module.removeprefix("vkgroup/") for module in modules]
    assert not [path for path in paths if not path.exists()]


def test_every_table_of_promises_is_read() -> None:
    assert len(ROWS) > 30
