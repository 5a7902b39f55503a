"""Drivers of Debian 13 with their own C library; those for absent GPUs also have ``mesa-drm-shim``.

Mesa's current packages need a newer C library than most systems have. A process that loads such a driver
therefore starts with the dynamic linker of the driver's folder; see `vkgroup.drivers.cache.Start`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from vkgroup.base.errors import DriverFetchError
from vkgroup.drivers import cache
from vkgroup.drivers.apt import Apt, Package, Progress
from vkgroup.drivers.build import load_order, manifest_of, read_dynamic
from vkgroup.drivers.cache import AMD_NAMES, LOADER, CachedDriver, DriverPackage
from vkgroup.drivers.unpacked import file_of, libraries_of

_SHIMS = "mesa-drm-shim"
_BASE = ("libc6", "libgcc-s1", "libvulkan1")

_C_LIBRARY = (
    *("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"),
    *("libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libresolv.so.2"),
)
"""Libraries of the process besides the driver's; Python and its modules refer to them."""

_LARGE = ("libllvm", "libz3")
"""Beginnings of packages that are unpacked only if the driver needs them (40 MB)."""

_LINKER = "ld-linux*.so.*"


def build(
    apt: Apt, folder: Path, family: DriverPackage, package: Package, progress: Progress | None = None
) -> CachedDriver:
    """Download a driver, with all libraries of its processes, into `folder`.

    `apt`: the sources of Debian 13 with backports. The caller must hold the cache's lock.

    Raises DriverFetchError: a package lacks a file, or no process starts with the driver's C library.
    """
    name = f"{family.name}-{package.upstream}"
    with cache.unfinished(folder) as work:
        root, finished = work / "root", work / name
        shims = [apt.matching(_SHIMS, package)] if family.shim else []
        packages = [package, *shims, *map(apt.newest, _BASE)]
        apt.unpack(packages, root, progress)
        others = [p for p in apt.with_dependencies(packages, skip_installed=False) if p not in packages]
        apt.unpack([p for p in others if not p.name.startswith(_LARGE)], root, progress)
        library = file_of(root, family.library)
        if _lacking(library, root):
            apt.unpack([p for p in others if p.name.startswith(_LARGE)], root, progress)
        start = _put_files(root, family, finished)
        icd = manifest_of(file_of(root, family.icd), f"./lib/{library.name}")
        (finished / "icd.json").write_bytes(icd)
        metadata = cache.DriverMetadata(
            family=family.name,
            version=package.upstream,
            package=f"{package.name} {package.version}",
            distribution="debian-13",
            runtime=tuple(f"{p.name} {p.version}" for p in packages[1:]),
            icd="icd.json",
            loader=f"lib/{LOADER}",
            layers=None,
            preload=(),
            start=start,
            format=cache.FORMAT_WITH_START,
        )
        cache.write_metadata(finished, metadata)
        driver = cache.load(finished)
        if driver is None:
            raise DriverFetchError(f"{finished} was damaged while it was written. Is the disk full?")
        _require_python(driver)
        cache.put_in_place(finished, folder / name)
    driver = cache.load(folder / name)
    assert driver is not None
    return driver


def packages_with_shim(apt: Apt, family: DriverPackage) -> list[Package]:
    """Return the packages that contain a family, for which the sources have the shim of the same version."""
    shims = {package.version for package in apt.versions(_SHIMS)}
    since = cache.version_key(family.since)
    packages = [package for package in apt.versions(family.package) if package.version in shims]
    return [package for package in packages if cache.version_key(package.upstream) >= since]


def _lacking(library: Path, root: Path) -> bool:
    """Return whether a library needs others that are not among the unpacked ones."""
    available = libraries_of(root)
    names = {path.name for path in root.rglob("*.so*")}
    needed = [library, *load_order(library, available)]
    dynamics = filter(None, map(read_dynamic, needed))
    return any(name not in names for dynamic in dynamics for name in dynamic.needed)


def _put_files(root: Path, family: DriverPackage, finished: Path) -> cache.StartFiles:
    """Copy the libraries of the driver's processes, under their sonames."""
    target = finished / "lib"
    target.mkdir(parents=True)
    library, shim = file_of(root, family.library), file_of(root, family.shim) if family.shim else None
    loader = file_of(root, f"usr/lib/*/{LOADER}").resolve()
    available = libraries_of(root)
    starts = [path for path in (library, shim, loader) if path is not None]
    needed = [path for start in starts for path in (start, *load_order(start, available))]
    for path in needed:
        dynamic = read_dynamic(path)
        _copy(path, target / (dynamic.soname if dynamic and dynamic.soname else path.name))
    for name in _C_LIBRARY:
        _copy(file_of(root, f"usr/lib/*/{name}"), target / name)
    linker = file_of(root, f"usr/lib/*/{_LINKER}")
    _copy(linker, target / linker.name)
    (target / linker.name).chmod(0o755)
    if shim is not None:
        # A shim has no soname, or one with its version: the name of its file stays.
        _copy(shim, target / shim.name)
    for table in root.glob(f"usr/share/libdrm/{AMD_NAMES}"):
        _copy(table, target / table.name)
    shim_file = "" if shim is None else f"lib/{shim.name}"
    return cache.StartFiles(f"lib/{linker.name}", "lib", shim_file, family.variable)


def _copy(source: Path, target: Path) -> None:
    if not target.exists():
        shutil.copyfile(source, target)


def _require_python(driver: CachedDriver) -> None:
    """Raise DriverFetchError if this Python does not start with the driver's C library."""
    assert driver.start is not None
    program = [sys.executable, "-P", "-c", "import ctypes, socket, ssl, numpy"]
    done = _output(driver.start.command(program))
    if done:
        raise DriverFetchError(
            f"This Python ({sys.version.split()[0]}) does not start with the C library of {driver.package}:"
            f" {done}"
        )


def _output(command: Sequence[str]) -> str:
    """Return the last line that a program printed if it failed; empty if it did not."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
