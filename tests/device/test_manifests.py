"""Finding and reading ICD manifests."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from vkgroup.device.manifests import find_manifests, read_manifest


def write(path: Path, **icd: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": icd}))
    return path


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without any driver but those a test puts there."""
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "cache"))
    for name in ("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path


def test_a_relative_library_lies_beside_the_manifest(tmp_path: Path) -> None:
    manifest = read_manifest(write(tmp_path / "a.json", library_path="./libdriver.so"))
    assert Path(manifest.library) == tmp_path / "libdriver.so"
    assert (manifest.name, manifest.problem) == ("a", "")


def test_a_bare_library_name_is_left_to_the_dynamic_linker(tmp_path: Path) -> None:
    assert read_manifest(write(tmp_path / "a.json", library_path="libGL_x.so.0")).library == "libGL_x.so.0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no valid JSON"),
        ("[]", "names no library"),
        ('{"ICD": []}', "names no library"),
        ('{"ICD": {"library_path": 7}}', "names no library"),
        ('{"ICD": {"library_path": ""}}', "names no library"),
    ],
)
def test_what_is_wrong_with_a_manifest_is_said(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    assert reason in read_manifest(path).problem


def test_bytes_that_are_no_text_are_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xff\xfe{}")
    assert "no valid JSON" in read_manifest(path).problem


def test_a_manifest_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    assert "cannot be read" in read_manifest(tmp_path / "a.json").problem


@pytest.mark.parametrize("variable", ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"])
def test_the_environment_replaces_the_folders(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    write(nowhere / "XDG_DATA_HOME" / "vulkan" / "icd.d" / "system.json", library_path="x.so")
    mine = [write(nowhere / name, library_path="x.so") for name in ("one.json", "two.json")]
    monkeypatch.setenv(variable, os.pathsep.join(map(str, mine)))
    assert [manifest.name for manifest in find_manifests()] == ["one", "two"]


def test_added_files_go_before_the_folders(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(nowhere / "XDG_DATA_DIRS" / "vulkan" / "icd.d" / "system.json", library_path="x.so")
    monkeypatch.setenv("VK_ADD_DRIVER_FILES", str(write(nowhere / "mine.json", library_path="x.so")))
    names = [manifest.name for manifest in find_manifests()]
    assert names[0] == "mine"
    assert "system" in names


def test_a_folder_in_the_environment_means_its_manifests(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(nowhere / "icds" / "b.json", library_path="x.so")
    write(nowhere / "icds" / "a.json", library_path="x.so")
    (nowhere / "icds" / "readme.txt").write_text("no manifest")
    monkeypatch.setenv("VK_DRIVER_FILES", str(nowhere / "icds"))
    assert [manifest.name for manifest in find_manifests()] == ["a", "b"]


def test_a_file_found_twice_is_listed_once(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(nowhere / "icds" / "a.json", library_path="x.so")
    monkeypatch.setenv("VK_DRIVER_FILES", f"{path}{os.pathsep}{path.parent / '..' / 'icds' / 'a.json'}")
    assert len(find_manifests()) == 1


def test_drivers_of_another_word_size_are_left_out(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "32" if sys.maxsize > 2**32 else "64"
    own = "64" if other == "32" else "32"
    files = [
        write(nowhere / "other.json", library_path="x.so", library_arch=other),
        write(nowhere / "own.json", library_path="x.so", library_arch=own),
    ]
    monkeypatch.setenv("VK_DRIVER_FILES", os.pathsep.join(map(str, files)))
    assert [manifest.name for manifest in find_manifests()] == ["own"]
