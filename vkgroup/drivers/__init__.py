"""Software Vulkan drivers in the user's cache, in several versions and without root rights.

`fetch` installs a driver from the distribution's signed packages, `path` returns an installed one,
`installed` and `list_drivers` list them. This package only manages files and makes no Vulkan calls.
"""

from __future__ import annotations

from vkgroup.base.files import cache_folder
from vkgroup.drivers.apt import Progress
from vkgroup.drivers.build import pack, unpack
from vkgroup.drivers.cache import (
    COMPANIONS,
    FAMILIES,
    LOADER,
    CachedDriver,
    drivers_folder,
    installed,
    keep_library,
    kept_library,
    kept_loader,
    parse_name,
    version_key,
)
from vkgroup.drivers.fetch import DriverStatus, fetch, fetch_all, fetch_package, list_drivers, path

__all__ = [
    "COMPANIONS",
    "FAMILIES",
    "LOADER",
    "CachedDriver",
    "DriverStatus",
    "Progress",
    "cache_folder",
    "drivers_folder",
    "fetch",
    "fetch_all",
    "fetch_package",
    "installed",
    "keep_library",
    "kept_library",
    "kept_loader",
    "list_drivers",
    "pack",
    "parse_name",
    "path",
    "unpack",
    "version_key",
]
