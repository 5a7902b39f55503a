"""Fetch drivers into the user's cache, and list them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vkgroup.base.errors import DriverFetchError, NoDevice
from vkgroup.base.files import cache_folder, missing_cache
from vkgroup.drivers import cache, own_c_library
from vkgroup.drivers.apt import COPY_INSTEAD, INSTALL_INSTEAD, Apt, Package, Progress, distribution
from vkgroup.drivers.build import build, loads
from vkgroup.drivers.cache import FAMILIES, MESA, CachedDriver, DriverPackage, parse_name


@dataclass(frozen=True)
class DriverStatus:
    """One entry of `list_drivers`: a driver that is in the cache or can be fetched."""

    # `name`, `family`, `version`: as in `CachedDriver`
    name: str
    family: str
    version: str
    driver: CachedDriver | None  # the driver in the cache; None if it is missing or damaged
    download_size: int | None  # size of its package in bytes; None if the distribution does not have it
    suite: str  # the distribution's suite with the package; empty if there is none


def fetch(
    name: str,
    progress: Progress | None = None,
    *,
    self_contained: bool = False,
    bookworm: bool = False,
) -> CachedDriver:
    """Fetch a driver into the user's cache and return it; nothing is downloaded if it is there.

    `name` is ``swiftshader`` or ``lavapipe`` (newest version of the distribution or its backports), or has a
    version: ``lavapipe-22.3.6``. ``radv``, ``nvk``, ``turnip`` and ``honeykrisp`` compile for
    absent GPUs; they come from Debian 13 or its backports, on every host.

    `progress` is called with the name of the current step and the completed fraction. With `self_contained`,
    the driver includes all libraries except the C library, also those that this host has, for use on another
    host. With `bookworm`, the packages are those of Debian 12, which differ from those of other releases in
    the version of LLVM.

    Raises DriverFetchError if the host is not Debian or a derivative, has no network, or the distribution
    lacks the driver. The message says what to install instead. Partial downloads are removed.
    """
    with cache.locked() as folder:
        return _Fetching(folder, None, progress, self_contained, bookworm).driver(name)


def fetch_all(names: Sequence[str], progress: Progress | None = None) -> Iterator[CachedDriver]:
    """Fetch drivers as `fetch` does, and yield each; a package of several drivers is downloaded once."""
    with cache.locked() as folder, cache.unfinished(folder) as downloads:
        fetching = _Fetching(folder, downloads, progress)
        yield from map(fetching.driver, names)


@dataclass(frozen=True)
class _Fetching:
    """Fetch of drivers by one command, which holds the cache's lock."""

    folder: Path
    downloads: Path | None  # folder in which downloaded packages stay until the end; None if they do not
    progress: Progress | None
    self_contained: bool = False
    bookworm: bool = False

    def driver(self, name: str) -> CachedDriver:
        """Return a driver of the cache, which is fetched if it is not there."""
        family, version = parse_name(name)
        if not self.self_contained:
            driver = _find(family, version)
            if driver is not None and (driver.start is not None or loads(driver)):
                return driver
        try:
            return self._fetched(family, version)
        except DriverFetchError as error:
            # The system's package managers have no drivers for absent GPUs.
            instead = COPY_INSTEAD if family.shim else INSTALL_INSTEAD.replace("swiftshader", "{}")
            raise DriverFetchError(str(error).replace(INSTALL_INSTEAD, instead.format(name))) from None

    def _fetched(self, family: DriverPackage, version: str | None) -> CachedDriver:
        system = _updated_apt(self.progress, self.downloads)
        if family.shim:
            debian = _debian_with(system, family, version, self.progress)
            package = _choose(debian, family, version)
            return own_c_library.build(debian, self.folder, family, package, self.progress)
        debian_12 = system.bookworm(self.progress) if self.bookworm else None
        apt = debian_12 or system.with_package(family.package, version, self.progress)
        if version is not None and not debian_12:
            newer = _newer(apt, family, version, self.progress)
            if newer is not None:
                return own_c_library.build(newer[0], self.folder, family, newer[1], self.progress)
        try:
            return self._build(apt, family, version)
        except DriverFetchError:
            # The lists may be outdated: the archive may have removed a package since.
            if not apt.update(self.progress, force=True):
                raise
            return self._build(apt, family, version)

    def _build(self, apt: Apt, family: DriverPackage, version: str | None) -> CachedDriver:
        package = _choose(apt, family, version)
        return build(apt, self.folder, family, package, self.progress, self_contained=self.self_contained)


def path(name: str) -> CachedDriver:
    """Return the driver `name` in the user's cache; a family name means the newest cached version.

    Raises NoDevice if the driver is not in the cache or damaged, and InvalidInput if the name is not valid.
    """
    family, version = parse_name(name)
    driver = _find(family, version)
    if driver is None:
        raise NoDevice(
            missing_cache()
            or f"The driver `{name}` is not in {cache.drivers_folder()}. "
            f"Fetch it with `vkgroup drivers fetch {name}`."
        )
    return driver


def list_drivers(progress: Progress | None = None) -> list[DriverStatus]:
    """Return all drivers in the cache and in the distribution, newest first in each family.

    Raises DriverFetchError if the distribution's packages cannot be queried; use `installed` in this case.
    """
    in_cache = {driver.name: driver for driver in cache.installed()}
    statuses: list[DriverStatus] = []
    with cache.locked():
        apt = _updated_apt(progress)
        for family in FAMILIES.values():
            offered = {
                f"{family.name}-{package.upstream}": (source, package)
                for source, package in reversed(_offered(apt, family, progress))
            }
            for name, (source, package) in offered.items():
                found = in_cache.pop(name, None), source.size(package), package.suite
                statuses.append(DriverStatus(name, family.name, package.upstream, *found))
    for driver in in_cache.values():
        statuses.append(DriverStatus(driver.name, driver.family, driver.version, driver, None, ""))
    statuses.sort(key=lambda s: cache.version_key(s.version), reverse=True)
    order = list(FAMILIES)
    return sorted(statuses, key=lambda s: order.index(s.family))


def _offered(apt: Apt, family: DriverPackage, progress: Progress | None) -> list[tuple[Apt, Package]]:
    """Return the packages of a family with their sources: the distribution's, and for Mesa Debian 13's."""
    offered: list[tuple[Apt, Package]] = []
    if not family.shim:
        source = apt.with_package(family.package, progress=progress)
        offered += [(source, package) for package in source.versions(family.package)]
    if family.package == MESA:
        try:
            trixie = apt.debian("trixie", progress)
        except DriverFetchError:  # the other drivers are listed without Debian 13
            return offered
        offered += [(trixie, package) for package in _packages(trixie, family)]
    return offered


def _packages(apt: Apt, family: DriverPackage) -> list[Package]:
    """Return the packages with a driver, newest first."""
    return own_c_library.packages_with_shim(apt, family) if family.shim else apt.versions(family.package)


def fetch_package(
    names: Sequence[str], folder: Path, progress: Progress | None = None, *, dependencies: bool = True
) -> Path:
    """Unpack packages of the distribution into `folder`, with the same paths as under ``/``; return `folder`.

    The newest version of each package is used, with dependencies that are not installed on the host unless
    `dependencies` is false. Existing files stay. Raises DriverFetchError if the host is not Debian or a
    derivative, has no network, or its sources lack a package.
    """
    with cache.locked():
        apt = _updated_apt(progress)
        packages = [apt.newest(name) for name in names]
        if dependencies:
            packages = apt.with_dependencies(packages, skip_installed=True)
        apt.unpack(packages, folder, progress)
    return folder


def _updated_apt(progress: Progress | None, downloads: Path | None = None) -> Apt:
    apt = Apt(cache_folder() / "apt" / distribution(), downloads=downloads)
    apt.update(progress)
    return apt


def _find(family: DriverPackage, version: str | None) -> CachedDriver | None:
    candidates = [d for d in cache.installed() if d.family == family.name and version in (None, d.version)]
    # Each process can load a driver without its own C library.
    candidates.sort(key=lambda driver: driver.start is not None)
    return candidates[0] if candidates else None


def _newer(
    apt: Apt, family: DriverPackage, version: str, progress: Progress | None
) -> tuple[Apt, Package] | None:
    """Return Debian 13's sources and package of a version that `apt` lacks; None if those lack it, too.

    Only Mesa's packages are taken, which work with their own C library.
    """
    if family.package != MESA or any(version == package.upstream for package in apt.versions(MESA)):
        return None
    try:
        trixie = apt.debian("trixie", progress)
    except DriverFetchError:
        return None
    package = next((package for package in trixie.versions(MESA) if package.upstream == version), None)
    return None if package is None else (trixie, package)


def _debian_with(apt: Apt, family: DriverPackage, version: str | None, progress: Progress | None) -> Apt:
    """Return the sources of Debian 13, or those of Debian unstable if these alone have a version."""
    trixie = apt.debian("trixie", progress)
    if version is None or version in {package.upstream for package in _packages(trixie, family)}:
        return trixie
    unstable = apt.debian("sid", progress)
    return unstable if version in {package.upstream for package in _packages(unstable, family)} else trixie


def _choose(apt: Apt, family: DriverPackage, version: str | None) -> Package:
    versions = _packages(apt, family)
    if not versions:
        raise DriverFetchError(
            f"The package sources of {distribution()} do not have `{family.package}`, the package of "
            f"`{family.name}`. {family.absent}{apt.omitted}\n{INSTALL_INSTEAD}"
        )
    for package in versions:
        if version in (None, package.upstream):
            return package
    offered = ", ".join(f"{family.name}-{p.upstream}" for p in versions)
    where = "Debian 13" if family.shim else distribution()
    raise DriverFetchError(f"{where} does not offer {family.name}-{version}; it offers {offered}.")
