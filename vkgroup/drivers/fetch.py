"""Getting a software driver into the user's cache, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vkgroup.drivers import cache
from vkgroup.drivers.apt import INSTALL_INSTEAD, Apt, Package, Progress, distribution
from vkgroup.drivers.build import build, loads
from vkgroup.drivers.cache import Driver
from vkgroup.drivers.catalogue import FAMILIES, Family, parse_name
from vkgroup.errors import DriverFetchError, NoDevice
from vkgroup.files import cache_folder


@dataclass(frozen=True)
class DriverStatus:
    """One line of `list_drivers`: a driver that is in the cache, could be fetched, or both.

    Attributes
    ----------
    name, family, version : as in `Driver`.
    driver : the driver in the cache; None where it is not there (or is damaged).
    download_size : bytes of its package; None where the distribution does not offer it.
    suite : the distribution's suite that offers it; empty where none does.
    """

    name: str
    family: str
    version: str
    driver: Driver | None
    download_size: int | None
    suite: str


def fetch(name: str, progress: Progress | None = None, *, self_contained: bool = False) -> Driver:
    """Put a software driver into the user's cache and return it; without network if it is there.

    Parameters
    ----------
    name : ``swiftshader`` or ``lavapipe`` (newest that the distribution or its backports has), or
        with a version behind it: ``lavapipe-22.3.6``.
    progress : called with what is being done and the fraction that is done.
    self_contained : bring every library but the C library along, also those that this host has; for
        a driver that is to be carried to another host.

    Raises
    ------
    DriverFetchError
        The host is not Debian-like, has no network, or the distribution lacks the driver; the
        message says what to install instead. Nothing half-fetched stays behind.
    """
    family, version = parse_name(name)
    with cache.locked() as folder:
        if not self_contained:
            driver = _find(family, version)
            if driver is not None and loads(driver):
                return driver
        apt = _updated_apt(progress).with_package(family.package, progress)
        try:
            package = _choose(apt, family, version)
            return build(apt, folder, family, package, progress, self_contained=self_contained)
        except DriverFetchError:
            # The archive may have dropped what lists of some hours ago still name.
            if not apt.update(progress, force=True):
                raise
            package = _choose(apt, family, version)
            return build(apt, folder, family, package, progress, self_contained=self_contained)


def path(name: str) -> Driver:
    """The driver `name` in the user's cache; a bare family name means its newest version there.

    Raises
    ------
    NoDevice
        It is not in the cache, or damaged.
    InvalidInput
        No driver can have that name.
    """
    family, version = parse_name(name)
    driver = _find(family, version)
    if driver is None:
        raise NoDevice(
            f"The software driver `{name}` is not in {cache.drivers_folder()}. "
            f"`vkgroup drivers fetch {name}` puts it there."
        )
    return driver


def list_drivers(progress: Progress | None = None) -> list[DriverStatus]:
    """Every driver in the cache and every one that the distribution offers, newest first in a family.

    Raises
    ------
    DriverFetchError
        The distribution could not be asked; `installed` answers without it.
    """
    in_cache = {driver.name: driver for driver in cache.installed()}
    statuses: list[DriverStatus] = []
    with cache.locked():
        apt = _updated_apt(progress)
        for family in FAMILIES.values():
            source = apt.with_package(family.package, progress)
            offered = {f"{family.name}-{p.upstream}": p for p in reversed(source.versions(family.package))}
            for name, package in offered.items():
                driver = in_cache.pop(name, None)
                size = source.size(package)
                statuses.append(
                    DriverStatus(name, family.name, package.upstream, driver, size, package.suite)
                )
    for driver in in_cache.values():
        statuses.append(DriverStatus(driver.name, driver.family, driver.version, driver, None, ""))
    statuses.sort(key=lambda s: cache.version_key(s.version), reverse=True)
    return sorted(statuses, key=lambda s: s.family, reverse=True)


def fetch_package(
    names: Sequence[str],
    folder: Path,
    progress: Progress | None = None,
    *,
    dependencies: bool = True,
) -> Path:
    """Unpack packages of the distribution into `folder`, as they would lie under ``/``.

    Parameters
    ----------
    names : packages, newest version each.
    folder : made if it is not there; what is in it stays.
    dependencies : with the packages they depend on and that the host has not installed.

    Returns
    -------
    Path
        `folder`.

    Raises
    ------
    DriverFetchError
        The host is not Debian-like, has no network, or its sources lack a package.
    """
    with cache.locked():
        apt = _updated_apt(progress)
        packages = [apt.newest(name) for name in names]
        if dependencies:
            packages = apt.with_dependencies(packages, skip_installed=True)
        apt.unpack(packages, folder, progress)
    return folder


def _updated_apt(progress: Progress | None) -> Apt:
    apt = Apt(cache_folder() / "apt" / distribution())
    apt.update(progress)
    return apt


def _find(family: Family, version: str | None) -> Driver | None:
    candidates = [d for d in cache.installed() if d.family == family.name and version in (None, d.version)]
    return candidates[0] if candidates else None


def _choose(apt: Apt, family: Family, version: str | None) -> Package:
    versions = apt.versions(family.package)
    if not versions:
        raise DriverFetchError(
            f"`{family.name}` is fetched from the package `{family.package}`, which the package sources "
            f"of {distribution()} do not have. {family.absent}\n{INSTALL_INSTEAD}"
        )
    for package in versions:
        if version in (None, package.upstream):
            return package
    offered = ", ".join(f"{family.name}-{p.upstream}" for p in versions)
    raise DriverFetchError(f"{distribution()} does not offer {family.name}-{version}; it offers {offered}.")
