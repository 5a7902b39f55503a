"""The software drivers that the tests use: exact versions from the user's cache, and no other driver.

Expected results name the bugs of single versions, so a test must never meet the driver that the machine
happens to have. `choose` selects one version of each family, `isolate` hides every other driver, loader and
layer. Run as a program, this fetches the drivers and a current glslang: ``make test`` does so before
it starts pytest. Tests use the glslang of the wheel, whose version is fixed, except for those with the
fixture `current_glslang`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from vkgroup import drivers
from vkgroup.base.choices import FETCHED_COMPILERS
from vkgroup.base.errors import DriverFetchError
from vkgroup.compiler.installed import InstalledCompiler, installed, installed_glslang
from vkgroup.drivers import CachedDriver, DriverStatus
from vkgroup.drivers.cache import version_key
from vkgroup.drivers.compilers import fetch_compiler

OLDEST = {"swiftshader": "156.0.8078.73", "lavapipe": "25.0.7"}
"""The version of each family that the tests were written with. Newer ones are taken too, older ones never."""

_SHARED_FOLDERS = ("apt", "test-packages", "modules")
_USER_CACHE = "VKGROUP_TESTS_USER_CACHE"


BUILDS = {"lavapipe": re.compile(r"[~+](bpo|deb)12")}
"""Packages of a family that the tests use. Debian 12 builds lavapipe with LLVM 15. With LLVM 19 (Debian 13),
the same version of Mesa aborts in two tests ("Cannot emit physreg copy instruction")."""


def choose(family: str) -> CachedDriver:
    """Return the driver of a family that the tests use, from a cache or else from the distribution.

    Of several versions that is the one closest to `OLDEST` and not older.

    Raises
    ------
    DriverFetchError
        No cache has such a driver and none can be fetched; the message says what was looked for.
    """
    return _closest(family, _cached(family)) or fetch_closest(family)


def fetch_closest(family: str) -> CachedDriver:
    """Return what `choose` does, and look for a closer version in the distribution than the caches have.

    Raises
    ------
    DriverFetchError
        As `choose` does.
    """
    cached = _cached(family)
    exact = f"{family}-{OLDEST[family]}"
    if chosen := next((driver for driver in cached if driver.name == exact), None):
        return chosen
    try:
        offered = _closest(family, [status for status in drivers.list_drivers() if status.suite])
    except DriverFetchError:
        if not cached:
            raise
        offered = None
    chosen = _closest(family, cached)
    if chosen is not None and (
        offered is None or version_key(chosen.version) <= version_key(offered.version)
    ):
        return chosen
    if family not in BUILDS:
        return drivers.fetch(offered.name if offered else exact, _print_progress)
    with _cache_of_tests():
        return drivers.fetch(exact, _print_progress, bookworm=True)


def _cached(family: str) -> list[CachedDriver]:
    """Return the drivers of a family that the tests may use, in the user's cache and in that of the tests."""
    installed = drivers.installed()
    with _cache_of_tests():
        installed += drivers.installed()
    build = BUILDS.get(family)
    return [
        driver
        for driver in installed
        if driver.family == family and (build is None or build.search(driver.package))
    ]


@contextmanager
def _cache_of_tests() -> Iterator[None]:
    """Use a cache inside the user's, for builds of a driver that differ from the user's own."""
    cache = drivers.cache_folder()
    before = os.environ.get("VKGROUP_CACHE")
    os.environ["VKGROUP_CACHE"] = str(cache / "tests")
    try:
        yield
    finally:
        del os.environ["VKGROUP_CACHE"]
        if before is not None:
            os.environ["VKGROUP_CACHE"] = before


_Version = TypeVar("_Version", CachedDriver, DriverStatus)


def _closest(family: str, versions: Iterable[_Version]) -> _Version | None:
    oldest = version_key(OLDEST[family])
    keys = {driver: version_key(driver.version) for driver in versions if driver.family == family}
    return min(
        (driver for driver in keys if keys[driver] >= oldest), key=lambda driver: keys[driver], default=None
    )


def isolate(folder: Path) -> dict[str, CachedDriver]:
    """Let this process and its children see the chosen drivers only; return them by family.

    Parameters
    ----------
    folder : an empty folder that becomes vkgroup's cache. It gets links to what is shared with the user's
        cache: drivers, lists of packages, packages that tests unpack, modules that earlier runs compiled.
    """
    user_cache = drivers.cache_folder().resolve()
    chosen = {family: choose(family) for family in OLDEST}
    for name in _SHARED_FOLDERS:
        # Compiled modules of the tests would push the user's own out of the user's cache.
        source = user_cache / ("test-modules" if name == "modules" else name)
        source.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(source, target_is_directory=True)
    (folder / "drivers").mkdir()
    (folder / "drivers" / ".lock").symlink_to(user_cache / "drivers" / ".lock")
    for driver in chosen.values():
        _link(driver, folder)
    for name in [name for name in os.environ if name.startswith("VK_")]:
        del os.environ[name]
    os.environ.update(_environment(chosen, folder))
    os.environ[_USER_CACHE] = str(user_cache)
    os.environ["VKGROUP_CACHE"] = str(folder)
    return chosen


def fetch_oldest_lavapipe() -> CachedDriver:
    """Return the oldest lavapipe of the user's cache; with only one there, fetch the oldest offered."""
    folder = drivers.cache_folder()
    os.environ["VKGROUP_CACHE"] = os.environ[_USER_CACHE]
    try:
        names = [driver.name for driver in drivers.installed() if driver.family == "lavapipe"]
        if len(names) < 2:
            names = [status.name for status in drivers.list_drivers() if status.family == "lavapipe"]
        driver = drivers.fetch(names[-1])
    finally:
        os.environ["VKGROUP_CACHE"] = str(folder)
    _link(driver, folder)
    return drivers.path(driver.name)


def fetch_compile_only(name: str) -> CachedDriver:
    """Return a driver for absent GPUs from the user's cache, fetched if it is not there."""
    folder = drivers.cache_folder()
    os.environ["VKGROUP_CACHE"] = os.environ[_USER_CACHE]
    try:
        driver = drivers.fetch(name)
    finally:
        os.environ["VKGROUP_CACHE"] = str(folder)
    _link(driver, folder)
    return drivers.path(driver.name)


def cache_with_compilers(folder: Path) -> InstalledCompiler:
    """Make a cache with the session's drivers and the user's compilers the current one; return glslang."""
    session = Path(os.environ["VKGROUP_CACHE"])
    (folder / "drivers").symlink_to(session / "drivers", target_is_directory=True)
    compilers = Path(os.environ[_USER_CACHE]) / "compilers"
    (folder / "compilers").symlink_to(compilers, target_is_directory=True)
    os.environ["VKGROUP_CACHE"] = str(folder)
    compiler = installed_glslang()
    assert compiler is not None, f"no current glslang in {compilers}; install it: vkgroup compilers fetch"
    return compiler


def _link(driver: CachedDriver, folder: Path) -> None:
    link = folder / "drivers" / driver.name
    if not link.exists():
        link.symlink_to(driver.folder.resolve(), target_is_directory=True)


def _environment(chosen: Mapping[str, CachedDriver], folder: Path) -> dict[str, str]:
    """Return the variables that hide the machine's drivers, loader and layers.

    `find_manifests` lists the fetched drivers and those of the variables, which name none.
    """
    empty = folder / "no-drivers"
    empty.mkdir()
    layers = [driver.layers for driver in chosen.values() if driver.layers is not None]
    return {
        "VK_DRIVER_FILES": str(empty),
        "VK_ICD_FILENAMES": str(empty),
        "VK_LAYER_PATH": str(layers[0] if layers else empty),
        "VK_IMPLICIT_LAYER_PATH": str(empty),
        "VK_LOADER_LAYERS_DISABLE": "~implicit~",
        "VKGROUP_LOADER": str(next(iter(chosen.values())).loader),
    }


def _print_progress(package: str, fraction: float) -> None:
    """Print a line for what is complete; lists of packages and packages are reported many times before."""
    if fraction == 1:
        print(f"vkgroup: fetched {package}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    for name in OLDEST:
        print(f"the tests use {fetch_closest(name).name}")
    for name in FETCHED_COMPILERS:
        print(f"the tests use {(installed(name) or fetch_compiler(name, _print_progress)).name}")
