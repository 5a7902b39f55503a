"""Drivers packed on one host and unpacked on another."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from repository import Repository

from vkgroup import drivers
from vkgroup.archives import extract_files
from vkgroup.errors import DriverFetchError, InvalidInput

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


def test_a_loader_alone_is_kept(swiftshader: drivers.Driver, cache: Path) -> None:
    assert drivers.kept_loader() is None
    kept = drivers.keep_library(swiftshader.loader)
    assert kept == drivers.kept_loader()
    assert kept.read_bytes() == swiftshader.loader.read_bytes()
    assert drivers.installed() == []


@pytest.mark.parametrize("name", ["../outside", "/tmp/vkgroup-outside", "a/../../outside"])
def test_an_archive_cannot_write_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        member = tarfile.TarInfo(name)
        member.size = 1
        with open(tmp_path / "file", "rb") as file:
            tar.addfile(member, file)
    with pytest.raises(tarfile.TarError, match="outside"):
        extract_files(tmp_path / "a.tar", tmp_path / "folder")
