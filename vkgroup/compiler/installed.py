"""Compilers in the user's cache, which `vkgroup compilers fetch` installs: a current glslang, and tint.

Of glslang a libshaderc that contains it, of tint the executable, each with the C library that it needs. They
are started by their own dynamic linker, so the host's C library may be older.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from vkgroup.base import processes
from vkgroup.base.files import cache_folder

METADATA = "compiler.json"
"""Metadata file in a compiler's folder; written last."""

LIBRARY_VARIABLE = "VKGROUP_LIBSHADERC"
"""Environment variable with the path of the libshaderc that a compiler process loads."""

GLSLANG, TINT = "glslang", "tint"
"""The compilers that can be fetched: for GLSL, and for WGSL."""

_FORMAT = 1
_LIBRARIES = "lib"


class CompilerMetadata(msgspec.Struct, kw_only=True):
    """The content of `METADATA`; paths are relative to the folder.

    `compiler`: `GLSLANG` or `TINT`. `version`: of the compiler. `packages`: names and versions. `library`:
    libshaderc, or empty. `loader`: the dynamic linker, or empty if the host's loads the library. `program`:
    the executable. `files`: their sizes.
    """

    compiler: str = GLSLANG
    version: str
    packages: tuple[str, ...]
    library: str = ""
    loader: str
    program: str
    files: dict[str, int]
    format: int = _FORMAT


@dataclass(frozen=True)
class InstalledCompiler:
    """An installed compiler: its folder, and the metadata in it."""

    folder: Path
    compiler: str
    version: str
    packages: tuple[str, ...]
    library: Path
    loader: Path | None
    program: Path

    @property
    def name(self) -> str:
        """Name and version for users: ``glslang 16.4.0 (libshaderc1 2026.4-1)``, ``tint 20260909``."""
        package = f" ({self.packages[0]})" if self.compiler == GLSLANG else ""
        return f"{self.compiler} {self.version}{package}"

    @property
    def identity(self) -> str:
        """An identifier of the build."""
        return f"{self.name} {' '.join(self.packages)}"

    def command(self, *program: str) -> list[str]:
        """Return the command that starts a program with the compiler's dynamic linker."""
        if self.loader is None:
            return list(program)
        return [str(self.loader), "--library-path", str(self.folder / _LIBRARIES), *program]

    def process(self, module: str) -> tuple[list[str], dict[str, str]]:
        """Return command and environment of a Python process that can load the library."""
        environment = {**processes.environment(), LIBRARY_VARIABLE: str(self.library)}
        return self.command(*processes.command(module)), environment


def compilers_folder() -> Path:
    """Return the folder that contains one folder per compiler."""
    return cache_folder() / "compilers"


def load(folder: Path) -> InstalledCompiler | None:
    """Return the compiler in a folder; None if there is none, or files are missing or have another size."""
    try:
        metadata = msgspec.json.decode((folder / METADATA).read_bytes(), type=CompilerMetadata)
        if metadata.format != _FORMAT:
            return None
        if any((folder / name).stat().st_size != size for name, size in metadata.files.items()):
            return None
    except (OSError, ValueError):
        return None
    return InstalledCompiler(
        folder,
        metadata.compiler,
        metadata.version,
        metadata.packages,
        folder / metadata.library,
        folder / metadata.loader if metadata.loader else None,
        folder / metadata.program,
    )


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version as a sort key."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


@cache
def _newest(folder: Path, _changed: int) -> dict[str, InstalledCompiler]:
    """Return the newest intact compilers in a folder by name."""
    loaded = (load(path) for path in folder.iterdir() if path.is_dir())
    intact = [compiler for compiler in loaded if compiler is not None]
    return {each.compiler: each for each in sorted(intact, key=lambda each: version_numbers(each.version))}


def installed(compiler: str) -> InstalledCompiler | None:
    """Return the newest installed `GLSLANG` or `TINT` in the user's cache; None if there is none."""
    folder = compilers_folder()
    try:
        return _newest(folder, os.stat(folder).st_mtime_ns).get(compiler)
    except OSError:
        return None


def installed_glslang() -> InstalledCompiler | None:
    """Return the newest glslang in the user's cache; None if there is none."""
    return installed(GLSLANG)


def starts_with(loader: Path | None, library: Path) -> str | None:
    """Return the glslang version that a Python process reads from a library; None if it cannot load it."""
    import subprocess  # only to install

    command = [] if loader is None else [str(loader), "--library-path", str(library.parent)]
    command += [sys.executable, "-P", "-m", "vkgroup.compiler.shaderc"]
    environment: Mapping[str, str] = {**processes.environment(), LIBRARY_VARIABLE: str(library)}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
