"""Fetched compilers: they go into bundles, and from there into another cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from vkgroup.base.errors import DriverFetchError
from vkgroup.compiler import compile_source
from vkgroup.compiler.installed import METADATA, TINT, InstalledCompiler, installed, load
from vkgroup.drivers import compilers

_SOURCE = "@compute @workgroup_size(1) fn main() {}\n"


def test_a_bundle_brings_a_compiler(
    tint: InstalledCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilers, "fetch_compiler", lambda name, progress=None: tint)
    compilers.pack_compilers([TINT], tmp_path / "bundle")
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "other"))
    assert installed(TINT) is None
    compilers.receive_compilers(tmp_path / "bundle")
    received = installed(TINT)
    assert received is not None
    assert received.name == tint.name
    assert received.folder.is_relative_to(tmp_path / "other")
    assert compile_source(_SOURCE, stage="compute", dialect="wgsl", cache=False).reflection.entry_points


def test_a_damaged_compiler_is_not_received(
    tint: InstalledCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilers, "fetch_compiler", lambda name, progress=None: tint)
    compilers.pack_compilers([TINT], tmp_path / "bundle")
    (packed,) = (tmp_path / "bundle").iterdir()
    assert load(packed) is not None
    (packed / METADATA).write_text("{}")
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "other"))
    compilers.receive_compilers(tmp_path / "bundle")
    compilers.receive_compilers(tmp_path / "no bundle")
    assert installed(TINT) is None


def test_only_known_compilers_are_packed(tmp_path: Path) -> None:
    with pytest.raises(DriverFetchError) as error:
        compilers.pack_compilers(["naga"], tmp_path)
    assert "glslang or tint" in str(error.value)
