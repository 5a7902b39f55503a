"""Fetch a current glslang into the user's cache: Debian's libshaderc with the C library that it needs."""

from __future__ import annotations

import platform
import re
import shutil
from pathlib import Path

import msgspec

from vkgroup.base.errors import CompilerUnavailable, DriverFetchError
from vkgroup.base.files import cache_folder
from vkgroup.compiler.installed import (
    METADATA,
    CompilerMetadata,
    InstalledGlslang,
    compilers_folder,
    installed_glslang,
    load,
    starts_with,
)
from vkgroup.drivers import cache
from vkgroup.drivers.apt import INSTALL_INSTEAD, Apt, Progress, distribution
from vkgroup.drivers.unpacked import file_of

PACKAGES = ("libshaderc1", "glslang-tools", "libc6", "libstdc++6", "libgcc-s1")
"""Packages of Debian unstable, which has the newest glslang; the first one names the compiler."""

_LIBRARIES = (
    *("libshaderc.so.1", "libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6"),
    *("libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"),
)
"""Libraries of the process; Python refers to the last four, which are empty in a current C library."""

_FALLBACK = "Without it, vkgroup compiles with glslang 13.1.1 of its wheel (2023)."


def fetch_glslang(progress: Progress | None = None) -> InstalledGlslang:
    """Fetch the newest glslang of Debian unstable into the user's cache and return it.

    The packages' signatures are verified with Debian's keys. Nothing is downloaded if the newest version is
    there. `progress` is called with the name of the current step and the completed fraction.

    Raises CompilerUnavailable: the host is not Debian or a derivative, has no network, or cannot start a
    process with the library. The previous compiler in the cache stays.
    """
    try:
        with cache.locked() as folder:
            system = Apt(cache_folder() / "apt" / distribution())
            system.update(progress)
            apt = system.unstable(progress)
            packages = [apt.newest(name) for name in PACKAGES]
            names = tuple(f"{package.name} {package.version}" for package in packages)
            present = installed_glslang()
            if present is not None and present.packages == names:
                return present
            with cache.unfinished(folder) as work:
                apt.unpack(packages, work / "root", progress)
                compiler = _build(work, names)
            apt.forget()
            return compiler
    except DriverFetchError as error:
        reason = str(error).replace(INSTALL_INSTEAD, "").strip()
        raise CompilerUnavailable(f"glslang cannot be fetched: {reason}\n{_FALLBACK}") from error


def _build(work: Path, packages: tuple[str, ...]) -> InstalledGlslang:
    """Make the folder of the compiler from unpacked packages, and move it into the cache."""
    root, finished = work / "root", work / "glslang"
    library = finished / "lib"
    library.mkdir(parents=True)
    for name in (*_LIBRARIES, "ld-linux*.so.*"):
        source = file_of(root, f"usr/lib/*/{name}")
        shutil.copyfile(source, library / source.name)
    loader = next(library.glob("ld-linux*.so.*"))
    loader.chmod(0o755)
    (finished / "bin").mkdir()
    program = finished / "bin" / "glslang"
    shutil.copyfile(file_of(root, "usr/bin/glslang"), program)
    program.chmod(0o755)
    shaderc = library / _LIBRARIES[0]
    version = starts_with(loader, shaderc)
    if version is None:
        # A Python that is newer than this C library may start with the host's own.
        version, loader_name = starts_with(None, shaderc), ""
    else:
        loader_name = f"lib/{loader.name}"
    if version is None:
        raise CompilerUnavailable(
            f"{packages[0]} cannot be loaded by Python on this host ({platform.platform()}). {_FALLBACK}"
        )
    files = {
        path.relative_to(finished).as_posix(): path.stat().st_size
        for path in sorted(finished.rglob("*"))
        if path.is_file()
    }
    metadata = CompilerMetadata(
        version=version,
        packages=packages,
        library=f"lib/{_LIBRARIES[0]}",
        loader=loader_name,
        program="bin/glslang",
        files=files,
    )
    encoded = msgspec.json.format(msgspec.json.encode(metadata), indent=1)
    (finished / METADATA).write_bytes(encoded + b"\n")
    target = compilers_folder() / f"glslang-{version}-{re.sub(r'[^0-9A-Za-z.+~-]', '_', packages[0])}"
    target.parent.mkdir(parents=True, exist_ok=True)
    cache.put_in_place(finished, target)
    compiler = load(target)
    if compiler is None:
        raise CompilerUnavailable(f"{target} was damaged while it was written; is the disk full?")
    return compiler


def remove_others(kept: InstalledGlslang) -> None:
    """Delete older compilers from the cache."""
    for path in compilers_folder().glob("glslang-*"):
        if path != kept.folder:
            shutil.rmtree(path, ignore_errors=True)
