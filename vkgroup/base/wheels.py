"""Files and shared libraries of the cmeel wheels: glslang, SPIRV-Tools, SPIRV-Headers."""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import cffi

from vkgroup.base.errors import CompilerUnavailable

#: Every cmeel wheel puts its files under this folder of site-packages.
_PREFIX = "cmeel.prefix"


@cache
def prefixes(distribution: str) -> tuple[Path, ...]:
    """Return the folders that may hold the files of `distribution`, the most likely first."""
    folders = []
    try:
        located = metadata.distribution(distribution).locate_file(_PREFIX)
        folders.append(Path(str(located)))
    except metadata.PackageNotFoundError:
        pass
    folders.extend(Path(entry, _PREFIX) for entry in sys.path)
    return tuple(dict.fromkeys(path for path in folders if path.is_dir()))


#: Paths of a shared library in a wheel on Linux, macOS and Windows; ``{}`` is the library's name.
_PATTERNS = ("lib/lib{}.so*", "lib64/lib{}.so*", "lib/lib{}.*dylib", "bin/{}.dll", "bin/lib{}.dll")


def find_library(distribution: str, name: str) -> Path:
    """Return the file of shared library `name` in the wheel `distribution`.

    Raises CompilerUnavailable: the wheel, or the library in it, is not installed.
    """
    for prefix in prefixes(distribution):
        for pattern in _PATTERNS:
            files = sorted(prefix.glob(pattern.format(name)))
            if files:
                return files[0]
    raise CompilerUnavailable(f"the shared library {name} is not installed: pip install {distribution}")


def open_library(ffi: cffi.FFI, distribution: str, name: str) -> Any:
    """Open a shared library of a wheel.

    Raises CompilerUnavailable: the library is not installed or cannot be loaded.
    """
    path = find_library(distribution, name)
    try:
        return ffi.dlopen(str(path))
    except OSError as error:
        raise CompilerUnavailable(
            f"{path} cannot be loaded ({error}); reinstall it: pip install --force-reinstall {distribution}"
        ) from error


def library_identity(distribution: str, name: str) -> str:
    """Return an identifier of the library's build: version of the wheel, size and time of the file."""
    status = find_library(distribution, name).stat()
    return f"{distribution} {wheel_version(distribution)} {status.st_size} {status.st_mtime_ns}"


def wheel_version(distribution: str) -> str:
    """Return the version of a wheel; ``unknown`` if its metadata is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
