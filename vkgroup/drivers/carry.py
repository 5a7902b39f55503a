"""Transfer of drivers to hosts without network: packing into an archive, and unpacking."""

from __future__ import annotations

import json
import lzma
import shutil
import tarfile
from pathlib import Path

from vkgroup.archives import extract_files
from vkgroup.drivers import cache
from vkgroup.drivers.build import prune_preload
from vkgroup.drivers.cache import Driver
from vkgroup.drivers.catalogue import parse_name
from vkgroup.errors import DriverFetchError

_SUFFIX = ".tar.xz"


def pack(driver: Driver, folder: Path) -> Path:
    """Pack a driver into ``NAME.tar.xz`` in `folder`; return the path of that file."""
    archive = folder / f"{driver.name}{_SUFFIX}"
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        tar.add(driver.folder, arcname=driver.name)
    return archive


def unpack(name: str, folder: Path) -> Driver:
    """Unpack a driver that `pack` wrote into the user's cache, without network.

    Parameters
    ----------
    name : as for `fetch`; a family name means the newest version in `folder`.
    folder : folder of the packed drivers.

    Raises
    ------
    DriverFetchError
        `folder` has no such driver, or the file is damaged or made for another architecture.
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
        except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
            raise DriverFetchError(
                f"{archive} cannot be unpacked: {error}. Make the bundle again."
            ) from error
        driver = cache.load(finished)
        if driver is None:
            raise DriverFetchError(f"{archive} is damaged. Make the bundle again.")
        preload = prune_preload(driver)
        entries = json.loads((finished / cache.METADATA).read_text(encoding="utf-8"))
        entries |= {"preload": [path.relative_to(finished).as_posix() for path in preload]}
        for path in set(driver.preload) - set(preload):
            path.unlink()
        cache.write_metadata(finished, entries)
        cache.put_in_place(finished, drivers / driver.name)
        unpacked = cache.load(drivers / driver.name)
    if unpacked is None:
        raise DriverFetchError(
            f"{drivers / driver.name} was damaged while it was written. Check whether the disk is full, "
            "then unpack it again."
        )
    return unpacked


LOADER = "libvulkan.so.1"

COMPANIONS = ("libGLdispatch.so.0", "libEGL.so.1")
"""Libraries of libglvnd, in load order, that NVIDIA's Vulkan driver opens on a host without a display.
Without them vkCreateInstance returns VK_ERROR_INCOMPATIBLE_DRIVER."""


def keep_library(library: Path) -> Path:
    """Copy a loader or companion library into the user's cache, for hosts that have only a GPU driver."""
    with cache.locked() as drivers, cache.unfinished(drivers) as work:
        shutil.copyfile(library, work / library.name)
        (work / library.name).replace(drivers / library.name)
    return drivers / library.name


def kept_library(name: str) -> Path | None:
    """Return the library that `keep_library` copied into the user's cache; None if there is none."""
    library = cache.drivers_folder() / name
    return library if library.is_file() else None


def kept_loader() -> Path | None:
    """Return the separate Vulkan loader in the user's cache; None if there is none."""
    return kept_library(LOADER)


def _version(archive: Path) -> str:
    return archive.name.removesuffix(_SUFFIX).partition("-")[2]
