"""Folder of a driver: created from packages of the distribution or from an archive, and packed.

Needed libraries are read from the dynamic section (System V ABI, "Dynamic Section"), so that no tool such as
``readelf`` has to be installed. ``docs/development/decisions.md`` compares this reader with pyelftools.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.base.archives import DamagedArchive, extract_files
from vkgroup.base.errors import DriverFetchError
from vkgroup.drivers import cache
from vkgroup.drivers.apt import INSTALL_INSTEAD, Apt, Package, Progress, distribution
from vkgroup.drivers.cache import LOADER, RUNTIMES, CachedDriver, DriverPackage, Runtime, parse_name
from vkgroup.drivers.unpacked import file_of, libraries_of

# Loads the libraries named on the command line one by one, in a separate process, because loading a foreign
# library may have side effects or crash.
_TRIAL = "import ctypes, os, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name, os.RTLD_NOW)\n"

_ICD = "icd.json"
_SUFFIX = ".tar.xz"
_LAYER = "layers/libVkLayer_khronos_validation.so"

# Chromium's package has the layer without a manifest. The manifest must list the layer's extensions, because
# applications can enable only listed ones.
_LAYER_MANIFEST = {
    "file_format_version": "1.2.0",
    "layer": {
        "name": "VK_LAYER_KHRONOS_validation",
        "type": "GLOBAL",
        "library_path": "./libVkLayer_khronos_validation.so",
        "api_version": "1.3.0",
        "implementation_version": "1",
        "description": "Khronos Validation Layer",
        "instance_extensions": [
            {"name": f"VK_EXT_{name}", "spec_version": version}
            for name, version in (("debug_report", "10"), ("debug_utils", "2"), ("validation_features", "6"))
        ],
    },
}


def build(
    apt: Apt,
    folder: Path,
    family: DriverPackage,
    package: Package,
    progress: Progress | None = None,
    *,
    self_contained: bool = False,
) -> CachedDriver:
    """Download `package` and its dependencies, and create the driver in `folder`.

    The work is done in a temporary folder that is renamed at the end. The caller must hold the cache's lock.
    """
    name = f"{family.name}-{package.upstream}"
    runtime = next((r for r in RUNTIMES if all(apt.versions(p) for p in r.packages)), None)
    if runtime is None:
        raise DriverFetchError(f"{distribution()} has no package with a Vulkan loader.\n{INSTALL_INSTEAD}")
    wanted = {family.package: package}
    provided = [wanted.get(p) or apt.newest(p) for p in runtime.packages]
    provided_names = tuple(f"{p.name} {p.version}" for p in provided)
    donor = next((d for d in cache.installed() if d.runtime == provided_names), None)
    with cache.unfinished(folder) as work:
        root, finished = work / "root", work / name
        (finished / "layers").mkdir(parents=True)
        packages = [package] if donor else list({p.name: p for p in [package, *provided]}.values())
        apt.unpack(packages, root, progress)
        library = file_of(root, family.library).name
        shutil.copyfile(file_of(root, family.library), finished / library)
        _put_runtime(root, runtime, donor, finished)
        _write_manifests(file_of(root, family.icd), library, finished)
        preload = _bring_dependencies(apt, package, finished / library, work, progress, self_contained)
        metadata = cache.DriverMetadata(
            family=family.name,
            version=package.upstream,
            package=f"{package.name} {package.version}",
            distribution=distribution(),
            runtime=provided_names,
            icd=_ICD,
            loader=LOADER,
            layers="layers",
            preload=preload,
        )
        cache.write_metadata(finished, metadata)
        cache.put_in_place(finished, folder / name)
    return _written(folder / name)


def _written(folder: Path) -> CachedDriver:
    """Return the driver in a folder that was just written."""
    driver = cache.load(folder)
    if driver is None:
        raise DriverFetchError(
            f"{folder} was damaged while it was written. Check whether the disk is full, then try again."
        )
    return driver


def loads(driver: CachedDriver) -> bool:
    """Return whether the dynamic linker of this host can load the driver (tried in a separate process)."""
    return _trial([*driver.preload, _library(driver)]) is None


def prune_preload(driver: CachedDriver) -> tuple[Path, ...]:
    """Return the bundled libraries of a driver that this host needs, in load order.

    The host's libraries are preferred, because other code in the process may use them too. If the driver does
    not load with them (they may be too old), all bundled libraries are used.

    Raises DriverFetchError: the driver cannot be loaded on this host.
    """
    library = _library(driver)
    problem = _trial([library])
    if problem is None:
        return ()
    lacking = tuple(path for path in driver.preload if _trial([Path(path.name)]) is not None)
    for chosen in (lacking, driver.preload):
        problem = _trial([*chosen, library])
        if problem is None:
            return chosen
    raise DriverFetchError(
        f"The driver {driver.name} cannot be loaded on this host: {problem}.\n{INSTALL_INSTEAD}"
    )


class _Icd(msgspec.Struct):
    """The part of an ICD manifest that describes the driver."""

    library_path: str


class _Manifest(msgspec.Struct):
    """An ICD manifest (Vulkan loader, "Driver Manifest File Format")."""

    ICD: _Icd


def _library(driver: CachedDriver) -> Path:
    return driver.folder / msgspec.json.decode(driver.icd.read_bytes(), type=_Manifest).ICD.library_path


def _trial(libraries: Sequence[Path]) -> str | None:
    """Return the dynamic linker's error for loading `libraries` in this order; None on success."""
    command = [sys.executable, "-c", _TRIAL, *map(str, libraries)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it crashed"])[-1]


def _put_runtime(root: Path, runtime: Runtime, donor: CachedDriver | None, finished: Path) -> None:
    for part, pattern in ((LOADER, runtime.loader), (_LAYER, runtime.layer)):
        if donor is None:
            shutil.copyfile(file_of(root, pattern), finished / part)
            continue
        try:
            os.link(donor.folder / part, finished / part)  # saves 23 MB
        except OSError:
            shutil.copyfile(donor.folder / part, finished / part)


def _write_manifests(icd: Path, library: str, finished: Path) -> None:
    """Write the manifests of driver and layer.

    Both name their library by a path relative to the manifest ("./…"), so the folder can be moved.
    """
    (finished / _ICD).write_bytes(manifest_of(icd, f"./{library}"))
    layer = msgspec.json.encode(_LAYER_MANIFEST) + b"\n"
    (finished / "layers" / "VkLayer_khronos_validation.json").write_bytes(layer)


def manifest_of(icd: Path, library: str) -> bytes:
    """Return the content of a package's driver manifest with another path of the library.

    Raises DriverFetchError: the file is not a manifest.
    """
    try:
        manifest = msgspec.json.decode(icd.read_bytes(), type=dict[str, Any])
        manifest["ICD"]["library_path"] = library
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DriverFetchError(f"The downloaded package is damaged: {icd.name} is no manifest.") from error
    return msgspec.json.encode(manifest) + b"\n"


def _bring_dependencies(
    apt: Apt, package: Package, library: Path, work: Path, progress: Progress | None, self_contained: bool
) -> tuple[str, ...]:
    """Add the libraries that `library` needs on this host; return their load order.

    Tries no libraries, then packages that are not installed on this host, then all packages, because an
    installed one may be too old. A minimal host needs 50 MB of libraries; most hosts need none.
    """
    if not self_contained and _trial([library]) is None:
        return ()
    for skip_installed in (False,) if self_contained else (True, False):
        packages = apt.with_dependencies([package], skip_installed=skip_installed)
        root = work / f"dependencies-{skip_installed}"
        apt.unpack(packages[1:], root, progress)
        order = load_order(library, libraries_of(root))
        problem = _trial([*order, library])
        if problem is None:
            return _keep(order, library.parent)
    raise DriverFetchError(
        f"The driver of {package.name} {package.version} cannot be loaded on this host, even with "
        f"the libraries that it depends on: {problem}.\n{INSTALL_INSTEAD}"
    )


def _keep(order: Sequence[Path], folder: Path) -> tuple[str, ...]:
    """Copy libraries into the driver's folder under their sonames; return relative paths in order."""
    (folder / "lib").mkdir()
    names = []
    for path in order:
        dynamic = read_dynamic(path)
        name = f"lib/{dynamic.soname if dynamic and dynamic.soname else path.name}"
        shutil.copyfile(path, folder / name)
        names.append(name)
    return tuple(names)


def pack(driver: CachedDriver, folder: Path) -> Path:
    """Pack a driver into ``NAME.tar.xz`` in `folder`; return the path of that file."""
    archive = folder / f"{driver.name}{_SUFFIX}"
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        tar.add(driver.folder, arcname=driver.name)
    return archive


def unpack(name: str, folder: Path) -> CachedDriver:
    """Unpack a driver that `pack` wrote into `folder` into the user's cache, without network.

    A family name means the newest version in `folder`. Raises DriverFetchError if `folder` has no such
    driver, or the file is damaged or made for another architecture.
    """
    family, version = parse_name(name)
    archives = [p for p in folder.glob(f"{family.name}-*{_SUFFIX}") if version in (None, _version(p))]
    if not archives:
        raise DriverFetchError(
            f"{folder} has no driver `{name}`. Create a bundle on a host with network: "
            f"`make bundle DRIVERS={name}`."
        )
    archive = max(archives, key=lambda path: cache.version_key(_version(path)))
    with cache.locked() as drivers, cache.unfinished(drivers) as work:
        finished = work / archive.name.removesuffix(_SUFFIX)
        try:
            extract_files(archive, work)
        except DamagedArchive as error:
            raise DriverFetchError(
                f"{archive} cannot be unpacked: {error}. Make the bundle again."
            ) from error
        driver = cache.load(finished)
        if driver is None or driver.name != finished.name:
            raise DriverFetchError(f"{archive} is damaged. Make the bundle again.")
        # A driver with its own C library is complete, and this process cannot load it.
        preload = prune_preload(driver) if driver.start is None else ()
        if driver.start is not None:
            driver.start.linker.chmod(0o755)
        metadata = cache.read_metadata(finished)
        metadata.preload = tuple(path.relative_to(finished).as_posix() for path in preload)
        for path in set(driver.preload) - set(preload):
            path.unlink()
        cache.write_metadata(finished, metadata)
        cache.put_in_place(finished, drivers / driver.name)
        return _written(drivers / driver.name)


def _version(archive: Path) -> str:
    return archive.name.removesuffix(_SUFFIX).partition("-")[2]


_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_SONAME = 1, 5, 14


@dataclass(frozen=True)
class Dynamic:
    """The dynamic section of one shared library."""

    soname: str  # the name other libraries ask for; empty where the library has none
    needed: tuple[str, ...]  # the sonames this library asks for, in its own order


def read_dynamic(library: Path) -> Dynamic | None:
    """Read a library's dynamic section; None for a file that is not a valid 64-bit ELF library.

    Every supported driver is built for a 64-bit architecture (amd64, arm64), so the 32-bit
    layout is left out.
    """
    data = library.read_bytes()
    if len(data) < 64 or data[:5] != b"\x7fELF\x02":
        return None
    order = "<" if data[5] == 1 else ">"
    try:
        return _parse(data, order)
    except (struct.error, ValueError, OverflowError):  # an offset may exceed the file, or 63 bits
        return None


def _parse(data: bytes, order: str) -> Dynamic | None:
    table, entry_size, count = (
        *struct.unpack_from(order + "Q", data, 32),
        *struct.unpack_from(order + "HH", data, 54),
    )
    loads: list[tuple[int, int, int]] = []  # (virtual address, file offset, size in the file)
    dynamic: tuple[int, int] | None = None
    for index in range(count):
        at = table + index * entry_size
        kind, _flags, offset, address, _physical, size = struct.unpack_from(order + "IIQQQQ", data, at)
        if kind == _PT_LOAD:
            loads.append((address, offset, size))
        elif kind == _PT_DYNAMIC:
            dynamic = (offset, size)
    if dynamic is None:
        return None
    tags = list(struct.iter_unpack(order + "QQ", data[dynamic[0] : dynamic[0] + dynamic[1]]))
    strings = next((value for tag, value in tags if tag == _DT_STRTAB), None)
    if strings is None:
        return None
    base = next((strings - a + o for a, o, size in loads if a <= strings < a + size), None)
    if base is None:
        return None

    def text(at: int) -> str:
        return data[base + at : data.index(b"\0", base + at)].decode("utf-8", "replace")

    soname = next((text(value) for tag, value in tags if tag == _DT_SONAME), "")
    return Dynamic(soname, tuple(text(value) for tag, value in tags if tag == _DT_NEEDED))


def load_order(library: Path, available: list[Path]) -> list[Path]:
    """Return the libraries of `available` that `library` needs, each after the libraries it needs itself.

    If they are loaded in this order, and then `library`, no search path is necessary: the dynamic
    linker recognizes a loaded library by its soname.
    """
    sections = {path: read_dynamic(path) for path in available}
    by_soname = {(d.soname or path.name): path for path, d in sections.items() if d is not None}
    order: list[Path] = []
    visited: set[Path] = set()

    def visit(dynamic: Dynamic | None) -> None:
        for soname in dynamic.needed if dynamic else ():
            path = by_soname.get(soname)
            if path is not None and path not in visited:
                visited.add(path)
                visit(sections[path])
                order.append(path)

    visit(read_dynamic(library))
    return order
