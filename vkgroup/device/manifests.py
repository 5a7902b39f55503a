"""Vulkan loader, JSON manifests of drivers (ICDs), and libraries to load before a driver."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from vkgroup import drivers
from vkgroup.base.errors import NoDevice
from vkgroup.base.files import expanded, read_bytes, require_regular

_SYSTEM_NAMES = {
    "win32": ("vulkan-1.dll",),
    "darwin": ("libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"),
}
_SYSTEM_NAMES_ELSEWHERE = ("libvulkan.so.1", "libvulkan.so")

_NO_LIBRARY = 'the file names no library ("ICD": {"library_path": …})'

_SUBFOLDER = Path("vulkan") / "icd.d"


@dataclass(frozen=True)
class LoaderCandidate:
    """A loader that may be used: a path or library name for the dynamic linker, and its origin in words."""

    name: str
    origin: str


def candidates() -> list[LoaderCandidate]:
    """List the loaders to try, best first: `VKGROUP_LOADER`, the system's, those in the user's cache."""
    asked = os.environ.get("VKGROUP_LOADER")
    if asked:
        return [LoaderCandidate(asked, "VKGROUP_LOADER")]
    names = _SYSTEM_NAMES.get(sys.platform, _SYSTEM_NAMES_ELSEWHERE)
    candidates = [LoaderCandidate(name, "the system's libraries") for name in names]
    bundled = drivers.kept_loader()
    if bundled is not None:
        candidates.append(LoaderCandidate(str(bundled), "a bundle"))
    for driver in drivers.installed():
        if driver.start is None and Path(driver.loader).is_file():
            candidates.append(LoaderCandidate(str(driver.loader), f"the fetched driver {driver.name}"))
    return candidates


def find_loader() -> LoaderCandidate:
    """Return the first loader that the dynamic linker can load; `NoDevice` with the reasons if none."""
    reasons = []
    for candidate in candidates():
        try:
            if "/" in candidate.name:
                require_regular(candidate.name)  # the dynamic linker would wait for a pipe's writer
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


def preload(manifest: Path) -> None:
    """Load the libraries that a driver needs, the host lacks, and the user's cache has.

    Those of a fetched driver came with it; those of other drivers came with a bundle. Raises `NoDevice` where
    one of them does not load.
    """
    for driver in drivers.installed():
        if driver.icd.resolve() == manifest.resolve():
            for library in driver.preload:
                _load(library, driver.name)
            return
    for name in missing_companions():
        bundled = drivers.kept_library(name)
        if bundled is not None:
            _load(bundled, manifest.name)


def missing_companions() -> list[str]:
    """Return the libraries of `vkgroup.drivers.COMPANIONS` that the dynamic linker does not find."""
    missing = []
    for name in drivers.COMPANIONS:
        try:
            ctypes.CDLL(name)
        except OSError:
            missing.append(name)
    return missing


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


class _Icd(msgspec.Struct):
    """The part of a manifest that describes the driver."""

    library_path: str
    library_arch: Any = None
    api_version: Any = None


class _File(msgspec.Struct):
    """The content of a manifest."""

    ICD: _Icd


@dataclass(frozen=True)
class Manifest:
    """One ICD's JSON file."""

    path: Path
    name: str  # the fetched driver's name (``"lavapipe-22.3.6"``), else the file's name without its ending
    # path or name of the shared library for the dynamic linker; empty if `problem` is set
    library: str = ""
    problem: str = ""  # why the file names no driver; empty if it does
    foreign: bool = False  # whether the library is for another word size than this process
    system: bool = False  # whether the file lies in a folder of the system (or in Windows' registry)
    named: bool = False  # whether an environment variable names the file or its folder
    api_version: tuple[int, ...] = ()  # the version of Vulkan that the file states; empty if it has none


def find_manifests() -> list[Manifest]:
    """List all ICDs of this machine: those named by the environment or the system's, then the fetched ones.

    `VK_DRIVER_FILES` (or the older `VK_ICD_FILENAMES`) replaces the system's folders, and
    `VK_ADD_DRIVER_FILES` goes before them, as the Vulkan loader has it. ICDs of another word size are
    left out.
    """
    manifests: dict[Path, Manifest] = {}
    for path in _environment_files():
        manifests.setdefault(_canonical(path), replace(read_manifest(path), named=True))
    for path in [file for folder in _folders() for file in _json_files(folder)] + _registry_files():
        manifests.setdefault(_canonical(path), replace(read_manifest(path), system=True))
    for driver in drivers.installed():
        if driver.start is not None:  # this process cannot load it
            continue
        manifests.setdefault(_canonical(driver.icd), read_manifest(driver.icd, driver.name))
    return [manifest for manifest in manifests.values() if not manifest.foreign]


def read_manifest(path: Path, name: str | None = None) -> Manifest:
    """Read one manifest; an error in it becomes its `problem`."""
    name = name or path.stem
    try:
        icd = msgspec.json.decode(read_bytes(path), type=_File).ICD
    except OSError as error:
        return Manifest(path, name, problem=f"the file cannot be read: {error.strerror or error}")
    except msgspec.ValidationError:
        return Manifest(path, name, problem=_NO_LIBRARY)
    except (ValueError, RecursionError) as error:
        return Manifest(path, name, problem=f"the file is no valid JSON: {error}")
    library, bits = icd.library_path, icd.library_arch
    if not library:
        return Manifest(path, name, problem=_NO_LIBRARY)
    foreign = bits in ("32", "64") and bits != ("64" if sys.maxsize > 2**32 else "32")
    # A relative path starts from the manifest's folder; a bare name is the linker's to find.
    is_path = "/" in library or "\\" in library
    return Manifest(
        path,
        name,
        str(path.parent / library) if is_path else library,
        foreign=foreign,
        api_version=drivers.version_key(str(icd.api_version or "")),
    )


def _environment_files() -> list[Path]:
    entries: list[Path] = []
    for variable in ("VK_ADD_DRIVER_FILES", _replacing_variable()):
        for entry in os.environ.get(variable, "").split(os.pathsep):
            if entry:
                path = Path(entry)
                entries += _json_files(path) if path.is_dir() else [path]
    return entries


def _replacing_variable() -> str:
    return "VK_DRIVER_FILES" if os.environ.get("VK_DRIVER_FILES") else "VK_ICD_FILENAMES"


def _folders() -> list[Path]:
    """Folders that the loader searches here, unless the environment names the drivers itself."""
    if os.environ.get(_replacing_variable()) or sys.platform == "win32":
        return []
    home = expanded("~")
    bases = [
        os.environ.get("XDG_CONFIG_HOME") or str(home / ".config"),
        *(os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep),
        "/etc",
        "/usr/local/etc",
        os.environ.get("XDG_DATA_HOME") or str(home / ".local" / "share"),
        *(os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(os.pathsep),
        "/usr/local/share",
        "/usr/share",
    ]
    if sys.platform == "darwin":
        bases.append("/opt/homebrew/share")
    # The loader does not search relative folders; ``~`` is not replaced if there is no home folder.
    return [Path(base) / _SUBFOLDER for base in dict.fromkeys(bases) if os.path.isabs(base)]


def _json_files(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.suffix == ".json")
    except OSError:
        return []


def _registry_files() -> list[Path]:
    """Manifests that Windows' registry names, for all drivers and for each display adapter."""
    if sys.platform != "win32" or os.environ.get(_replacing_variable()):
        return []
    import winreg

    files: list[Path] = []
    adapters = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, adapters) as key:
            for index in range(winreg.QueryInfoKey(key)[0]):
                try:
                    with winreg.OpenKey(key, winreg.EnumKey(key, index)) as adapter:
                        value = winreg.QueryValueEx(adapter, "VulkanDriverName")[0]
                except OSError:
                    continue
                files += [Path(name) for name in ([value] if isinstance(value, str) else value)]
    except OSError:
        pass
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Khronos\Vulkan\Drivers") as key:
            names = [winreg.EnumValue(key, index) for index in range(winreg.QueryInfoKey(key)[1])]
            files += [Path(name) for name, disabled, _ in names if disabled == 0]
    except OSError:
        pass
    return files


def _canonical(path: Path) -> Path:
    """Return a path that identifies the file; the path of a missing file is not changed."""
    try:
        return path.resolve()
    except OSError:
        return path
