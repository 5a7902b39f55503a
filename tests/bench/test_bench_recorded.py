"""The documents quote recorded benchmarks as the files have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vkgroup.bench import compare

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "bench" / "results" / "nvidia-h200"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("bench_*.json")), ids=lambda path: path.stem)
def test_recorded_runs_can_be_compared(path: Path) -> None:
    found = compare.compare(path, path)
    assert found.changes
    assert not found.worse


@pytest.mark.parametrize("document", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_files_that_documents_name_are_there(document: Path) -> None:
    """Names in backquotes, of the runs on the H200."""
    words = document.read_text().split("`")
    names = [word for word in words if word.startswith("bench_") and word.endswith(".json")]
    assert [name for name in names if not list(RECORDED.glob(name))] == []
