"""A cache of modules for each test, and a ``glslc`` that is fetched where none is installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from vkgroup.compiler import front_ends
from vkgroup.drivers import cache_folder, fetch_package


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty cache; return the folder of its entries."""
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "modules"


@pytest.fixture(scope="session")
def glslc_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a ``glslc`` that runs: the installed one, else Debian's package unpacked into the cache."""
    installed = shutil.which("glslc")
    if installed is not None:
        return Path(installed)
    folder = cache_folder() / "test-packages" / "glslc"
    if not (folder / "usr" / "bin" / "glslc").is_file():
        fetch_package(["glslc"], folder)
    libraries = os.pathsep.join(str(path.parent) for path in folder.glob("usr/lib/**/libshaderc.so.1"))
    wrapper = tmp_path_factory.mktemp("glslc") / "glslc"
    wrapper.write_text(
        f"#!/bin/sh\nLD_LIBRARY_PATH='{libraries}' exec '{folder / 'usr' / 'bin' / 'glslc'}' \"$@\"\n"
    )
    wrapper.chmod(0o755)
    return wrapper


@pytest.fixture
def glslc(glslc_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make shaderc mean the executable, also where a libshaderc would load."""
    monkeypatch.setenv("VKGROUP_GLSLC", str(glslc_path))
    monkeypatch.setattr(front_ends, "_has_libshaderc", lambda: False)
    return glslc_path
