"""A cache of modules for each test, and a ``glslc`` that is fetched where none is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.compiler import shaderc
from vkgroup.drivers import apt, cache_folder, fetch_package


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
    monkeypatch.setattr(shaderc, "_library", lambda: None)
    return glslc_path


#: A release of Debian whose libshaderc loads; Debian 12's lacks a symbol.
_RELEASE_WITH_LIBSHADERC = {"ID": "debian", "VERSION_CODENAME": "trixie"}


@pytest.fixture(scope="session")
def python_with_libshaderc(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a Python in which a libshaderc loads.

    That of the distribution is tried first; where it does not load, a newer release's is taken
    together with that release's C library, under whose loader this Python then runs.
    """
    packages = cache_folder() / "test-packages"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    own = packages / "libshaderc"
    if not list(own.glob("usr/lib/**/libshaderc.so.1")):
        fetch_package(["libshaderc1"], own)
    environment["LD_LIBRARY_PATH"] = str(next(own.glob("usr/lib/**/libshaderc.so.1")).parent)
    check = [sys.executable, "-c", "import ctypes; ctypes.CDLL('libshaderc.so.1')"]
    if subprocess.run(check, env=environment, capture_output=True, check=False).returncode == 0:
        return [sys.executable], environment
    newer = packages / "libshaderc-newer"
    if not list(newer.glob("usr/lib/**/libshaderc.so.1")):
        _fetch_from_newer_release(newer)
    folder = next(newer.glob("usr/lib/**/libshaderc.so.1")).parent
    loader = next(newer.glob("usr/lib/**/ld-linux*.so.*"))
    del environment["LD_LIBRARY_PATH"]
    environment["PYTHONHOME"] = f"{sys.base_prefix}:{sys.base_exec_prefix}"
    return [str(loader), "--library-path", f"{folder}:{_folders_of_libraries()}", sys.executable], environment


def _fetch_from_newer_release(folder: Path) -> None:
    lists = cache_folder() / "apt" / "newer-release"
    lists.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apt, "_os_release", lambda: _RELEASE_WITH_LIBSHADERC)
        source = apt.Apt(lists)
        source.update()
        names = ("libshaderc1", "libc6", "libstdc++6", "libgcc-s1")
        source.unpack([source.newest(name) for name in names], folder)


def _folders_of_libraries() -> str:
    """Return where this process found its own shared libraries."""
    mapped = Path("/proc/self/maps").read_text().split()
    return ":".join(sorted({str(Path(path).parent) for path in mapped if ".so" in path}))
