"""Fixtures: an empty cache for each test, and a local repository in place of the distribution's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from repository import Repository

from vkgroup.drivers.apt import Apt


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache."""
    folder = tmp_path / "a cache"
    monkeypatch.setenv("VKGROUP_CACHE", str(folder))
    return folder


@pytest.fixture
def repository(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The only source of packages, empty at first."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "Packages").write_text("")
    made = Repository(folder)
    monkeypatch.setattr(Apt, "_source_lists", lambda _: [made.source])
    return made
