"""Fetch compilers into the user's cache: packages of Debian unstable with the C library that they need.

glslang is libshaderc, which a Python process loads. tint, for WGSL, is a program of the package dawn-tools.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from vkgroup.base.errors import CompilerUnavailable, DriverFetchError
from vkgroup.base.files import cache_folder
from vkgroup.compiler.installed import (
    GLSLANG,
    METADATA,
    TINT,
    CompilerMetadata,
    InstalledCompiler,
    compilers_folder,
    installed,
    load,
    starts_with,
)
from vkgroup.drivers import cache
from vkgroup.drivers.apt import INSTALL_INSTEAD, Apt, Package, Progress, distribution
from vkgroup.drivers.build import load_order, read_dynamic
from vkgroup.drivers.unpacked import file_of, libraries_of

_C_LIBRARY = ("libc6", "libstdc++6", "libgcc-s1")


@dataclass(frozen=True)
class _Source:
    """Where a compiler comes from."""

    packages: tuple[str, ...]  # of Debian unstable, besides the C library; the first one names the compiler
    dependencies: str  # how the names of further packages begin that the first one needs; empty for none
    program: str
    library: str  # that a Python process loads; empty if the program is started
    instead: str  # what to do without it


_SOURCES = {
    GLSLANG: _Source(
        ("libshaderc1", "glslang-tools"),
        "",
        "usr/bin/glslang",
        "libshaderc.so.1",
        "Without it, vkgroup compiles with glslang 13.1.1 of its wheel (2023).",
    ),
    TINT: _Source(
        ("dawn-tools",),
        "libabsl",
        "usr/bin/tint",
        "",
        "Debian and Ubuntu can fetch it. On others copy it from there (`make bundle COMPILERS=tint`), or pass"
        " the SPIR-V that another compiler made of the WGSL.",
    ),
}

PACKAGES = (*_SOURCES[GLSLANG].packages, *_C_LIBRARY)
"""The packages of glslang."""

_LIBRARIES = (
    *("libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6"),
    *("libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"),
)
"""Libraries of the process; Python refers to the last four, which are empty in a current C library."""


def fetch_compiler(name: str, progress: Progress | None = None) -> InstalledCompiler:
    """Fetch the newest `GLSLANG` or `TINT` of Debian unstable into the user's cache and return it.

    The packages' signatures are verified with Debian's keys. Nothing is downloaded if the newest version is
    there. `progress` is called with the name of the current step and the completed fraction.

    Raises CompilerUnavailable: the host is not Debian or a derivative, has no network, or cannot start a
    process with the compiler. The previous compiler in the cache stays.
    """
    source = _SOURCES[name]
    try:
        with cache.locked() as folder:
            system = Apt(cache_folder() / "apt" / distribution())
            system.update(progress)
            apt = system.debian("sid", progress)
            packages = [*map(apt.newest, source.packages), *_further(apt, source)]
            packages += map(apt.newest, _C_LIBRARY)
            names = tuple(f"{package.name} {package.version}" for package in packages)
            present = installed(name)
            if present is not None and present.packages == names:
                return present
            with cache.unfinished(folder) as work:
                apt.unpack(packages, work / "root", progress)
                compiler = _build(work, name, packages[0], names)
            apt.forget()
            return compiler
    except DriverFetchError as error:
        reason = str(error).replace(INSTALL_INSTEAD, "").strip()
        raise CompilerUnavailable(f"{name} cannot be fetched: {reason}\n{source.instead}") from error


def _further(apt: Apt, source: _Source) -> list[Package]:
    """Return the further packages that the first one needs, whose names have the date of their release."""
    if not source.dependencies:
        return []
    closure = apt.with_dependencies([apt.newest(source.packages[0])], skip_installed=False)
    return [apt.newest(entry.name) for entry in closure if entry.name.startswith(source.dependencies)]


def _build(work: Path, name: str, package: Package, packages: tuple[str, ...]) -> InstalledCompiler:
    """Make the folder of a compiler from unpacked packages, and move it into the cache."""
    source, root, finished = _SOURCES[name], work / "root", work / name
    library, program = finished / "lib", finished / "bin" / name
    library.mkdir(parents=True)
    for wanted in (*filter(None, [source.library]), *_LIBRARIES, "ld-linux*.so.*"):
        found = file_of(root, f"usr/lib/*/{wanted}")
        shutil.copyfile(found, library / found.name)
    own = file_of(root, source.program)
    for found in load_order(own, libraries_of(root)) if source.dependencies else ():
        dynamic = read_dynamic(found)
        shutil.copyfile(found, library / (dynamic.soname if dynamic and dynamic.soname else found.name))
    loader = next(library.glob("ld-linux*.so.*"))
    loader.chmod(0o755)
    program.parent.mkdir()
    shutil.copyfile(own, program)
    program.chmod(0o755)
    loader_name = f"lib/{loader.name}"
    if source.library:
        version = starts_with(loader, library / source.library)
        if version is None:
            # A Python that is newer than this C library may start with the host's own.
            version, loader_name = starts_with(None, library / source.library), ""
    else:
        version = _version_of(package) if _starts(loader, library, program) else None
    if version is None:
        raise CompilerUnavailable(
            f"{packages[0]} cannot be started on this host ({platform.platform()}). {source.instead}"
        )
    written = (path for path in sorted(finished.rglob("*")) if path.is_file())
    files = {path.relative_to(finished).as_posix(): path.stat().st_size for path in written}
    metadata = CompilerMetadata(
        compiler=name,
        version=version,
        packages=packages,
        library=f"lib/{source.library}" if source.library else "",
        loader=loader_name,
        program=f"bin/{name}",
        files=files,
    )
    encoded = msgspec.json.format(msgspec.json.encode(metadata), indent=1)
    (finished / METADATA).write_bytes(encoded + b"\n")
    target = compilers_folder() / f"{name}-{version}-{re.sub(r'[^0-9A-Za-z.+~-]', '_', packages[0])}"
    target.parent.mkdir(parents=True, exist_ok=True)
    cache.put_in_place(finished, target)
    compiler = load(target)
    if compiler is None:
        raise CompilerUnavailable(f"{target} was damaged while it was written; is the disk full?")
    return compiler


def _version_of(package: Package) -> str:
    """Return the version of a snapshot: ``20260909.1a75cb7f`` of ``0.0~git20260909.1a75cb7f-1``."""
    return package.upstream.rpartition("git")[2]


def _starts(loader: Path, library: Path, program: Path) -> bool:
    """Return whether a program starts with a C library."""
    command = [str(loader), "--library-path", str(library), str(program), "--help"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"Usage: " in done.stdout + done.stderr


def remove_others(kept: InstalledCompiler) -> None:
    """Delete older versions of a compiler from the cache."""
    for path in compilers_folder().glob(f"{kept.compiler}-*"):
        if path != kept.folder:
            shutil.rmtree(path, ignore_errors=True)


def pack_compilers(names: Sequence[str], folder: Path, progress: Progress | None = None) -> None:
    """Fetch compilers, and copy their folders of the cache into a folder."""
    for name in names:
        if name not in _SOURCES:
            raise DriverFetchError(f"There is no compiler {name!r} to fetch; choose {' or '.join(_SOURCES)}.")
        compiler = fetch_compiler(name, progress)
        shutil.copytree(compiler.folder, folder / compiler.folder.name)


def receive_compilers(folder: Path) -> None:
    """Copy compilers that `pack_compilers` wrote into the user's cache; existing ones stay."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        target = compilers_folder() / path.name
        if load(target) is None and load(path) is not None:
            with cache.locked() as locked, cache.unfinished(locked) as work:
                shutil.copytree(path, work / path.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                cache.put_in_place(work / path.name, target)
