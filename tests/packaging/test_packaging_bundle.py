"""The bundle for hosts without network: packed and unpacked, and refused where it does not fit."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from vkgroup import drivers
from vkgroup.bootstrap import bundle, making
from vkgroup.bootstrap.environment import SetupError
from vkgroup.bootstrap.receiving import receive
from vkgroup.drivers import cache

_CONTENT = {
    "small/__init__.py": b"ANSWER = 42\n",
    "small-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: small\nVersion: 1.0\n",
    "small-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "small-1.0.dist-info/RECORD": b"",
}


def _make_wheel(root: Path, wheels: Path) -> None:
    """Stand for the download: one wheel that pip can install."""
    with zipfile.ZipFile(wheels / "small-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _CONTENT.items():
            archive.writestr(name, data)


@pytest.fixture(scope="module")
def small_driver(
    swiftshader: drivers.CachedDriver, tmp_path_factory: pytest.TempPathFactory
) -> drivers.CachedDriver:
    """A whole driver that packs quickly: for a library it has a copy of the loader."""
    folder = tmp_path_factory.mktemp("drivers") / "swiftshader-1.0"
    folder.mkdir()
    shutil.copyfile(swiftshader.loader, folder / "libvulkan.so.1")
    (folder / "icd.json").write_text(json.dumps({"ICD": {"library_path": "./libvulkan.so.1"}}))
    metadata = cache.DriverMetadata(
        family="swiftshader",
        version="1.0",
        package="",
        runtime=(),
        icd="icd.json",
        loader="libvulkan.so.1",
        layers=None,
        preload=(),
    )
    cache.write_metadata(folder, metadata)
    driver = cache.load(folder)
    assert driver is not None
    return driver


@pytest.fixture(scope="module")
def original(small_driver: drivers.CachedDriver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with one small wheel and one driver."""
    folder = tmp_path_factory.mktemp("original") / "the bundle"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "_collect_wheels", _make_wheel)
        patch.setattr(drivers, "fetch", lambda name, **_: small_driver)
        size = making.make(folder.parent, folder, ["swiftshader"])
    assert size == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < making.SIZE_LIMIT
    return folder


@pytest.fixture
def made(
    original: Path, small_driver: drivers.CachedDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A copy of that bundle to change; another one can be made without network."""
    monkeypatch.setattr(making, "_collect_wheels", _make_wheel)
    monkeypatch.setattr(drivers, "fetch", lambda name, **_: small_driver)
    return Path(shutil.copytree(original, tmp_path / "the bundle"))


def test_a_bundle_is_what_its_manifest_says(made: Path) -> None:
    bundle.check(made)
    manifest = json.loads((made / bundle.MANIFEST).read_text())
    names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert names == {bundle.MANIFEST, *manifest["files"]}
    assert names == {
        "manifest.json",
        "wheels.tar.xz",
        *bundle.LIBRARIES,
        "drivers/swiftshader-1.0.tar.xz",
    }
    assert list(manifest["wheels"]) == ["small-1.0-py3-none-any.whl"]


def test_its_wheels_install_without_network(made: Path, tmp_path: Path) -> None:
    with bundle.unpacked_wheels(made) as wheels:
        with zipfile.ZipFile(wheels / "small-1.0-py3-none-any.whl") as archive:
            assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target"]
        command += [str(tmp_path / "site"), "--find-links", str(wheels), "small"]
        subprocess.run(command, check=True)
    assert (tmp_path / "site" / "small" / "__init__.py").read_bytes() == _CONTENT["small/__init__.py"]
    assert not wheels.exists()


def test_its_driver_and_loader_reach_the_cache(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "cache"))
    receive(made)
    first = drivers.path("swiftshader")
    for name in bundle.LIBRARIES:
        kept = drivers.kept_library(name)
        assert kept is not None
        assert kept.read_bytes() == (made / name).read_bytes()
    assert drivers.kept_loader() == drivers.kept_library("libvulkan.so.1")
    receive(made)
    assert drivers.path("swiftshader") == first


@pytest.mark.parametrize("file", ["wheels.tar.xz", "libvulkan.so.1"])
def test_a_damaged_bundle_is_refused(made: Path, file: str) -> None:
    data = bytearray((made / file).read_bytes())
    data[len(data) // 2] ^= 1
    (made / file).write_bytes(data)
    with pytest.raises(SetupError, match=f"{file} is damaged"):
        bundle.check(made)
    (made / file).unlink()
    with pytest.raises(SetupError, match=f"{file} is damaged or missing"):
        bundle.check(made)


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("file", ["manifest.json", "wheels.tar.xz", "libvulkan.so.1"])
def test_devices_and_pipes_in_a_bundle_are_not_opened(made: Path, kind: str, file: str) -> None:
    (made / file).unlink()
    os.mkfifo(made / file) if kind == "pipe" else (made / file).symlink_to("/dev/zero")
    with pytest.raises(SetupError, match=f"{file} is damaged|it is a {kind}"):
        bundle.check(made)
    for read in (bundle.sha256, drivers.keep_library):
        with pytest.raises(OSError, match=f"it is a {kind}"):
            read(made / file)


@pytest.mark.parametrize("name", ["../outside", "/dev/zero", "wheels.tar.xz"])
def test_a_list_with_files_outside_or_without_the_wheels_is_refused(made: Path, name: str) -> None:
    (made.parent / "outside").write_bytes(b"x")
    path = made / bundle.MANIFEST
    manifest = json.loads(path.read_text())
    if name in manifest["files"]:
        del manifest["files"][name]
    else:
        manifest["files"][name] = {"size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    path.write_text(json.dumps(manifest))
    with pytest.raises(SetupError, match=r"damaged or missing|is not in the bundle's list"):
        bundle.check(made)


def test_wheels_that_cannot_be_unpacked(made: Path) -> None:
    (made / bundle.WHEELS).write_bytes(b"no archive")
    unpacked = bundle.unpacked_wheels(made)
    with pytest.raises(SetupError, match=r"wheels\.tar\.xz cannot be unpacked"), unpacked:
        pass


def test_a_folder_that_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="not a bundle"):
        bundle.check(tmp_path)
    (tmp_path / bundle.MANIFEST).write_text("[]")
    with pytest.raises(SetupError, match="not a bundle"):
        bundle.check(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("python", ["3.9"], "wheels for Python 3.9"),
        ("machine", "sparc", "made for sparc"),
        ("format", 99, "another version"),
    ],
)
def test_a_bundle_for_other_hosts(made: Path, key: str, value: object, message: str) -> None:
    path = made / bundle.MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(SetupError, match=message):
        bundle.check(made)


def test_a_bundle_that_would_be_too_large_is_not_left_behind(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "SIZE_LIMIT", 1000)
    with pytest.raises(SetupError, match="but the limit is"):
        making.make(tmp_path, tmp_path / "large", [])
    assert not (tmp_path / "large").exists()
    assert [path.name for path in tmp_path.glob("bundle-*")] == []


def test_it_replaces_a_bundle_but_no_other_folder(made: Path, tmp_path: Path) -> None:
    making.make(tmp_path, made, [])
    assert not list((made / bundle.DRIVERS).glob("*"))
    (tmp_path / "mine").mkdir()
    with pytest.raises(SetupError, match="is not a bundle"):
        making.make(tmp_path, tmp_path / "mine", [])
    assert (tmp_path / "mine").is_dir()


def test_every_supported_python_is_in_it() -> None:
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    named = {line.rsplit(" ", 1)[1] for line in project["classifiers"] if "Python :: 3." in line}
    assert set(making.PYTHONS) == named
