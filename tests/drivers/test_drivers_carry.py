"""Drivers packed on one host and unpacked on another."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from repository import Repository

from vkgroup import drivers
from vkgroup.base.archives import extract_files
from vkgroup.base.errors import DriverFetchError, InvalidInput

_LACKING = "libvkgroup-test-carried.so.1"


@pytest.fixture
def packed(repository: Repository, tmp_path: Path) -> Path:
    """A folder with a packed lavapipe that brings one library along, which this host lacks."""
    repository.add_swiftshader("156.0-1")
    repository.add_library("zlib1g", "libz.so.1")
    repository.add_library("lacking", _LACKING)
    repository.add_lavapipe("25.0-1", (_LACKING, "libz.so.1"), "lacking, zlib1g")
    folder = tmp_path / "carried"
    folder.mkdir()
    driver = drivers.fetch("lavapipe", self_contained=True)
    assert {path.name for path in driver.preload} == {_LACKING, "libz.so.1"}
    drivers.pack(driver, folder)
    return folder


@pytest.fixture
def elsewhere(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, without any source of packages."""
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PATH", "/nonexistent")
    return tmp_path / "elsewhere"


@pytest.mark.parametrize("name", ["lavapipe", "lavapipe-25.0"])
def test_a_carried_driver_is_whole(packed: Path, elsewhere: Path, name: str) -> None:
    driver = drivers.unpack(name, packed)
    assert driver.folder == elsewhere / "drivers" / "lavapipe-25.0"
    assert drivers.fetch("lavapipe") == driver
    assert drivers.unpack(name, packed) == driver


def test_only_the_libraries_that_the_host_lacks_are_kept(packed: Path, elsewhere: Path) -> None:
    driver = drivers.unpack("lavapipe", packed)
    assert [path.name for path in driver.preload] == [_LACKING]
    assert [path.name for path in (driver.folder / "lib").iterdir()] == [_LACKING]


def test_a_driver_that_is_not_there(packed: Path, elsewhere: Path) -> None:
    for name in ("swiftshader", "lavapipe-24"):
        with pytest.raises(DriverFetchError, match=f"make bundle DRIVERS={name}"):
            drivers.unpack(name, packed)
    with pytest.raises(InvalidInput):
        drivers.unpack("radeon", packed)


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.5, 0.8])
def test_a_damaged_file_is_refused(packed: Path, elsewhere: Path, keep: float) -> None:
    (archive,) = packed.iterdir()
    data = archive.read_bytes()
    archive.write_bytes(data[: int(keep * len(data))])
    with pytest.raises(DriverFetchError, match="Make the bundle again"):
        drivers.unpack("lavapipe", packed)
    assert drivers.installed() == []


def test_a_loader_alone_is_kept(swiftshader: drivers.CachedDriver, cache: Path) -> None:
    assert drivers.kept_loader() is None
    kept = drivers.keep_library(swiftshader.loader)
    assert kept == drivers.kept_loader()
    assert kept.read_bytes() == swiftshader.loader.read_bytes()
    assert drivers.installed() == []


@pytest.mark.parametrize("field", ["icd", "loader", "layers", "preload", "files", "family", "linker"])
def test_files_and_names_outside_of_the_folder_are_refused(
    packed: Path, elsewhere: Path, field: str, tmp_path: Path
) -> None:
    """A driver's folder is moved to its name, and libraries that the host has are deleted."""
    (tmp_path / "mine.so").write_text("mine")
    (archive,) = packed.iterdir()
    extract_files(archive, tmp_path / "changed")
    folder = tmp_path / "changed" / "lavapipe-25.0"
    metadata = json.loads((folder / "driver.json").read_text())
    outside = "../" * 20 + str(tmp_path / "mine.so")
    entry = {"size": 4, "modified": 0, "sha256": hashlib.sha256(b"mine").hexdigest()}
    other = {
        "preload": [outside],
        "files": {**metadata["files"], outside: entry},
        "family": "../lavapipe",
        "linker": {"linker": outside, "libraries": "lib", "shim": "", "variable": ""},
    }
    metadata["start" if field == "linker" else field] = other.get(field, outside)
    (folder / "driver.json").write_text(json.dumps(metadata))
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(folder, arcname="lavapipe-25.0")
    with pytest.raises(DriverFetchError, match=r"is damaged\. Make the bundle again"):
        drivers.unpack("lavapipe", packed)
    assert (tmp_path / "mine.so").read_text() == "mine"
    assert drivers.installed() == []
