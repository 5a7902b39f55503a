"""Fixtures: an empty cache for each test, and a local repository in place of the distribution's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from repository import Repository, SigningKey, new_key

from vkgroup.drivers.apt import Apt


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache."""
    folder = tmp_path / "a cache"
    monkeypatch.setenv("VKGROUP_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def key() -> Iterator[SigningKey]:
    """A new key for signatures."""
    with new_key() as made:
        yield made


@pytest.fixture
def repository(cache: Path, tmp_path: Path, key: SigningKey, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The only source of packages, empty at first."""
    made = Repository(tmp_path / "repository", key)
    monkeypatch.setattr(Apt, "_source_lists", lambda _: [made.source])
    return made
