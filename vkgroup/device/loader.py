"""Search for the Vulkan loader, and preloading of libraries that drivers need."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from vkgroup import drivers
from vkgroup.drivers import Driver
from vkgroup.errors import NoDevice

_SYSTEM_NAMES = {
    "win32": ("vulkan-1.dll",),
    "darwin": ("libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"),
}
_SYSTEM_NAMES_ELSEWHERE = ("libvulkan.so.1", "libvulkan.so")


@dataclass(frozen=True)
class Candidate:
    """One loader that may be used.

    Attributes
    ----------
    name : what the dynamic linker is asked for: a path or a bare library name.
    origin : where this candidate comes from, for messages.
    """

    name: str
    origin: str


def candidates() -> list[Candidate]:
    """List the loaders to try, best first: `VKGROUP_LOADER`, the system's, those in the user's cache."""
    asked = os.environ.get("VKGROUP_LOADER")
    if asked:
        return [Candidate(asked, "VKGROUP_LOADER")]
    names = _SYSTEM_NAMES.get(sys.platform, _SYSTEM_NAMES_ELSEWHERE)
    candidates = [Candidate(name, "the system's libraries") for name in names]
    bundled = drivers.kept_loader()
    if bundled is not None:
        candidates.append(Candidate(str(bundled), "a bundle"))
    for driver in installed_drivers():
        if driver.loader is not None and Path(driver.loader).is_file():
            candidates.append(Candidate(str(driver.loader), f"the fetched driver {driver.name}"))
    return candidates


def find_loader() -> Candidate:
    """Return the first loader that the dynamic linker can load.

    Raises
    ------
    NoDevice
        No candidate loads; the message lists each one with the linker's reason.
    """
    reasons = []
    for candidate in candidates():
        try:
            ctypes.CDLL(candidate.name)
        except OSError as error:
            reasons.append(f"  {candidate.name} (from {candidate.origin}): {error}")
        else:
            return candidate
    raise NoDevice(
        "No Vulkan loader could be loaded. Looked for:\n"
        + "\n".join(reasons)
        + "\nInstall one (Debian and Ubuntu: libvulkan1), fetch a software driver with its own loader"
        " (`vkgroup drivers fetch swiftshader`), or name one in VKGROUP_LOADER."
    )


def installed_drivers() -> list[Driver]:
    """List the software drivers in the user's cache; empty where none was fetched."""
    return list(drivers.installed())


def preload(manifest: Path) -> None:
    """Load the libraries that a driver needs, the host lacks, and the user's cache has.

    Those of a fetched driver came with it; those of other drivers came with a bundle.

    Raises
    ------
    NoDevice
        One of them does not load.
    """
    for driver in installed_drivers():
        if driver.icd.resolve() == manifest.resolve():
            for library in driver.preload:
                _load(library, driver.name)
            return
    for name in missing_companions():
        bundled = drivers.kept_library(name)
        if bundled is not None:
            _load(bundled, manifest.name)


def missing_companions() -> list[str]:
    """List those of `vkgroup.drivers.COMPANIONS` that the dynamic linker does not find."""
    return [name for name in drivers.COMPANIONS if not _host_has(name)]


def _host_has(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _load(library: Path, driver: str) -> None:
    """Load a library unless the process has one of this name: a second copy of LLVM would abort it."""
    if _is_loaded(library.name):
        return
    try:
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise NoDevice(f"The driver {driver} needs {library}, which does not load: {error}") from None


def _is_loaded(name: str) -> bool:
    try:
        ctypes.CDLL(name, os.RTLD_NOLOAD)
    except OSError:
        return False
    return True
