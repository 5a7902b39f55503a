"""Makes the helper modules of this folder and of the suite's tests importable, for worker processes too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

_FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "conformance")]

sys.path[:0] = _FOLDERS


@pytest.fixture
def transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers import the transforms by name."""
    path = os.pathsep.join(filter(None, [*_FOLDERS, os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
