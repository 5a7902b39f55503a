"""Creation of a driver's folder from packages of the distribution."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from vkgroup.drivers import cache, elf
from vkgroup.drivers.apt import INSTALL_INSTEAD, Apt, Package, Progress, distribution
from vkgroup.drivers.cache import Driver
from vkgroup.drivers.catalogue import RUNTIMES, Family, Runtime
from vkgroup.errors import DriverFetchError

# Loads the libraries named on the command line one by one, in a separate process, because loading a foreign
# library may have side effects or crash.
_TRIAL = "import ctypes, os, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name, os.RTLD_NOW)\n"

_LOADER = "libvulkan.so.1"
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
            {"name": "VK_EXT_debug_report", "spec_version": "10"},
            {"name": "VK_EXT_debug_utils", "spec_version": "2"},
            {"name": "VK_EXT_validation_features", "spec_version": "6"},
        ],
    },
}


def build(
    apt: Apt,
    folder: Path,
    family: Family,
    package: Package,
    progress: Progress | None = None,
    *,
    self_contained: bool = False,
) -> Driver:
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
        library = _copy(_single(root, family.library), finished)
        _put_runtime(root, runtime, donor, finished)
        _write_manifests(_single(root, family.icd), library, finished)
        preload = _bring_dependencies(apt, package, finished / library, work, progress, self_contained)
        entries = {
            "family": family.name,
            "version": package.upstream,
            "package": f"{package.name} {package.version}",
            "distribution": distribution(),
            "runtime": provided_names,
            "icd": "icd.json",
            "loader": _LOADER,
            "layers": "layers",
            "preload": preload,
        }
        cache.write_metadata(finished, entries)
        cache.put_in_place(finished, folder / name)
    driver = cache.load(folder / name)
    if driver is None:
        raise DriverFetchError(
            f"{folder / name} was damaged while it was written. Check whether the disk is full, then fetch "
            "it again."
        )
    return driver


def loads(driver: Driver) -> bool:
    """Return whether the dynamic linker of this host can load the driver (tried in a separate process)."""
    return _trial([*driver.preload, _library(driver)]) is None


def prune_preload(driver: Driver) -> tuple[Path, ...]:
    """Return the bundled libraries of a driver that this host needs, in load order.

    The host's libraries are preferred, because other code in the process may use them too. If the driver does
    not load with them (they may be too old), all bundled libraries are used.

    Raises
    ------
    DriverFetchError
        The driver cannot be loaded on this host.
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


def _library(driver: Driver) -> Path:
    manifest = json.loads(driver.icd.read_text(encoding="utf-8"))
    return driver.folder / str(manifest["ICD"]["library_path"])


def _trial(libraries: Sequence[Path]) -> str | None:
    """Return the dynamic linker's error for loading `libraries` in this order; None on success."""
    command = [sys.executable, "-c", _TRIAL, *map(str, libraries)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it crashed"])[-1]


def _single(root: Path, pattern: str) -> Path:
    files = sorted(root.glob(pattern))
    if not files:
        raise DriverFetchError(f"The downloaded package has no {pattern}.\n{INSTALL_INSTEAD}")
    return files[0]


def _copy(file: Path, folder: Path) -> str:
    """Copy `file` (or the target of a link) into `folder`; return its name."""
    shutil.copyfile(file, folder / file.name)
    return file.name


def _put_runtime(root: Path, runtime: Runtime, donor: Driver | None, finished: Path) -> None:
    for part, pattern in ((_LOADER, runtime.loader), (_LAYER, runtime.layer)):
        if donor is None:
            shutil.copyfile(_single(root, pattern), finished / part)
            continue
        try:
            os.link(donor.folder / part, finished / part)  # saves 23 MB
        except OSError:
            shutil.copyfile(donor.folder / part, finished / part)


def _write_manifests(icd: Path, library: str, finished: Path) -> None:
    """Write the manifests of driver and layer.

    Both name their library by a path relative to the manifest ("./…"), so the folder can be moved.
    """
    manifest = json.loads(icd.read_text(encoding="utf-8"))
    manifest["ICD"]["library_path"] = f"./{library}"
    (finished / "icd.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    layer = json.dumps(_LAYER_MANIFEST, indent=1) + "\n"
    (finished / "layers" / "VkLayer_khronos_validation.json").write_text(layer, encoding="utf-8")


def _bring_dependencies(
    apt: Apt,
    package: Package,
    library: Path,
    work: Path,
    progress: Progress | None,
    self_contained: bool,
) -> list[str]:
    """Add the libraries that `library` needs on this host; return their load order.

    Tries no libraries, then packages that are not installed on this host, then all packages, because an
    installed one may be too old. A minimal host needs 50 MB of libraries; most hosts need none.
    """
    problem = None if self_contained else _trial([library])
    if problem is None and not self_contained:
        return []
    for skip_installed in (False,) if self_contained else (True, False):
        packages = apt.with_dependencies([package], skip_installed=skip_installed)
        root = work / f"dependencies-{skip_installed}"
        apt.unpack(packages[1:], root, progress)
        available = [path for path in sorted(root.rglob("lib*.so*")) if not path.is_symlink()]
        order = elf.load_order(library, available)
        problem = _trial([*order, library])
        if problem is None:
            return _keep(order, library.parent)
    raise DriverFetchError(
        f"The driver of {package.name} {package.version} cannot be loaded on this host, even with "
        f"the libraries that it depends on: {problem}.\n{INSTALL_INSTEAD}"
    )


def _keep(order: Sequence[Path], folder: Path) -> list[str]:
    """Copy libraries into the driver's folder under their sonames; return relative paths in order."""
    (folder / "lib").mkdir()
    names = []
    for path in order:
        dynamic = elf.read_dynamic(path)
        name = f"lib/{dynamic.soname if dynamic and dynamic.soname else path.name}"
        shutil.copyfile(path, folder / name)
        names.append(name)
    return names
