"""Query and download the distribution's signed packages without root rights.

``apt-get`` runs with separate lists, cache and configuration in the user's cache. It therefore needs no root
rights and does not change the system. The proxies, the trusted keys and, on distributions other than Debian,
the sources are those of the system, without settings that accept unsigned packages. Every list must have a
valid signature, and every package the SHA-256 in its list.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from vkgroup.base.errors import DriverFetchError
from vkgroup.drivers.sources import (
    DEBIAN_MIRROR,
    DEBIAN_SECURITY_MIRROR,
    KEYRING_PACKAGE,
    KEYRINGS,
    debian_sources,
    is_debian,
    os_release,
    system_keyring,
    system_sources,
)

Progress = Callable[[str, float], None]
"""Function called with the name of the current step and the completed fraction (0 to 1)."""

INSTALL_INSTEAD = """Install a Vulkan driver with the system's package manager instead:
  Debian, Ubuntu   sudo apt-get install libvulkan1 mesa-vulkan-drivers
  Fedora           sudo dnf install vulkan-loader mesa-vulkan-drivers
  Arch             sudo pacman -S vulkan-icd-loader vulkan-swrast
or copy one from a machine with network: `make bundle DRIVERS=swiftshader` there, then
`make conform OFFLINE=FOLDER` here."""

COPY_INSTEAD = """Copy it from a machine with network: `make bundle DRIVERS={0}` there, then
`vkgroup drivers fetch {0} --offline FOLDER` here."""

_LISTS_STAY_FRESH = 6 * 3600.0  # seconds; a failed download refreshes the lists immediately
_CONNECTION = re.compile(r"Acquire::(http|https|ftp|tor|Force|Retries|Check-(Valid-Until|Date) )")
"""Settings of the system that are kept: proxies, and whether outdated lists are accepted."""

_UNVERIFIED = re.compile(
    r"not signed|does not have a Release file|is expired|not valid yet|GPG error|authenticated|"
    r"Hash Sum mismatch|unexpected size",
    re.IGNORECASE,
)
"""Messages of apt about signatures, dates and hashes."""


@dataclass(frozen=True)
class Package:
    """One version of a package in the sources."""

    name: str  # name in the distribution
    version: str  # version in the distribution
    suite: str  # suite that contains it, such as ``bookworm-backports``

    @property
    def upstream(self) -> str:
        """The version without the distribution's epoch and revision: ``25.0.7``."""
        return self.version.split(":", 1)[-1].rsplit("-", 1)[0].split("+", 1)[0]


def distribution() -> str:
    """Return the distribution's id and release: ``debian-12``, ``ubuntu-24.04``; ``unknown`` elsewhere."""
    release = os_release()
    words = [release.get("ID", ""), release.get("VERSION_ID") or release.get("VERSION_CODENAME", "")]
    return "-".join(word for word in words if word) or "unknown"


class Apt:
    """``apt-get`` with lists, cache and configuration in `folder`, which is not deleted between calls.

    Only one process may use it at a time: the caller must hold a lock on `folder`. `sources` has lines of
    apt's list of sources; None means those of the system that are verified, on Debian with backports.
    Packages stay in `downloads`, if given. Raises DriverFetchError if the host has no ``apt-get`` or no
    ``dpkg-deb``.
    """

    def __init__(self, folder: Path, sources: str | None = None, downloads: Path | None = None) -> None:
        for tool in ("apt-get", "apt-cache", "apt-config", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise DriverFetchError(
                    f"Packages of Debian or Ubuntu are fetched with apt, but this host "
                    f"({distribution()}) has no `{tool}`.\n{INSTALL_INSTEAD}"
                )
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder.resolve()
        self._sources = sources
        self._downloads = downloads
        self._empty_status = self._folder / "status"
        self._stamp = self._folder / "verified"
        self._environment = {**os.environ, "LC_ALL": "C", "APT_CONFIG": str(self._folder / "apt.conf")}

    @property
    def omitted(self) -> str:
        """A sentence about the system's sources that are not used; empty if there are none."""
        omitted = () if self._sources is not None or is_debian() else system_sources().omitted
        if not omitted:
            return ""
        return f" Not used, because an option switches off verification: {'; '.join(omitted)}."

    def update(self, progress: Progress | None = None, *, force: bool = False) -> bool:
        """Refresh package lists older than six hours (one minute with `force`); return whether it did."""
        try:
            age = time.time() - self._stamp.stat().st_mtime
        except OSError:
            age = float("inf")
        if 0 <= age < (60.0 if force else _LISTS_STAY_FRESH):
            return False
        self._stamp.unlink(missing_ok=True)
        attempts = self._source_lists()
        for number, sources in enumerate(attempts):
            self._configure(sources)
            try:
                self._run_with_progress(["update"], "package lists", progress)
                self._stamp.touch()
                break
            except DriverFetchError:
                if number + 1 == len(attempts):
                    raise
        return True

    def forget(self) -> None:
        """Delete the package lists and apt's index of them; those of Debian unstable take 200 MB."""
        self._stamp.unlink(missing_ok=True)
        for name in ("lists", "cache"):
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def versions(self, package: str) -> list[Package]:
        """Return all versions of `package` in the sources, newest first."""
        packages: list[Package] = []
        for line in self._output(["apt-cache", "madison", package]).splitlines():
            columns = [column.strip() for column in line.split("|")]
            source = columns[2].split() if len(columns) == 3 else []
            if len(source) >= 3 and source[-1] == "Packages":
                packages.append(Package(columns[0], columns[1], source[1].split("/")[0]))
        return list({(p.name, p.version): p for p in reversed(packages)}.values())[::-1]

    def newest(self, package: str) -> Package:
        """Return the newest version of `package`; raise DriverFetchError if the sources have none."""
        versions = self.versions(package)
        if not versions:
            raise DriverFetchError(
                f"The package sources of {distribution()} have no `{package}`.{self.omitted}\n"
                f"{INSTALL_INSTEAD}"
            )
        return versions[0]

    def matching(self, name: str, package: Package) -> Package:
        """Return the version of a package that belongs to the version of another one of the same source."""
        for version in self.versions(name):
            if version.version == package.version:
                return version
        raise DriverFetchError(
            f"The package sources have no `{name}` of the version {package.version}, as `{package.name}` has."
        )

    def size(self, package: Package) -> int:
        """Return the download size of one package in bytes."""
        shown = self._output(["apt-cache", "show", f"{package.name}={package.version}"])
        match = re.search(r"^Size: (\d+)$", shown, re.MULTILINE)
        return int(match.group(1)) if match else 0

    def with_dependencies(self, packages: Sequence[Package], *, skip_installed: bool) -> list[Package]:
        """Return `packages` and their dependencies, without the C library.

        With `skip_installed`, dependencies that are installed on the host in any version are omitted.
        """
        # With an empty database of installed packages, apt lists all dependencies and does not upgrade
        # packages of the host.
        command = ["apt-get", "install", "--print-uris", "--yes", "--no-install-recommends"]
        command += ["-o", f"Dir::State::status={self._empty_status}"]
        for package in packages:
            if package.suite.endswith("-backports"):
                command += ["-t", package.suite]
        output = self._output([*command, *(f"{p.name}={p.version}" for p in packages)])
        wanted = {p.name for p in packages}
        omitted = self._installed() if skip_installed else set()
        closure = list(packages)
        for match in re.finditer(r"^'\S+' (\S+)_(\S+)_\S+\.deb ", output, re.MULTILINE):
            name = match.group(1)
            # A process cannot use two C libraries, and it already uses the host's.
            if name in wanted or name in omitted or re.fullmatch(r"libc6|libgcc-s1|gcc-.*-base", name):
                continue
            closure.append(Package(name, unquote(match.group(2)), ""))
        return closure

    def unpack(self, packages: Sequence[Package], into: Path, progress: Progress | None = None) -> None:
        """Download `packages`, which apt verifies, and unpack them into one folder."""
        into.mkdir(parents=True, exist_ok=True)
        if not packages:
            return
        with tempfile.TemporaryDirectory(prefix="debs-", dir=self._folder) as temporary:
            downloads = self._downloads or Path(temporary)
            lacking = [package for package in packages if not _archives(package, downloads)]
            if lacking:
                command = ["download", *(f"{p.name}={p.version}" for p in lacking)]
                what = lacking[0].name + (f" and {len(lacking) - 1} more" if len(lacking) > 1 else "")
                self._run_with_progress(command, what, progress, downloads)
            for package in packages:
                for archive in _archives(package, downloads):
                    extract(archive, into)

    def with_package(
        self, package: str, upstream: str | None = None, progress: Progress | None = None
    ) -> Apt:
        """Return the sources that have `package`: these, or Debian 12's if these lack it.

        With `upstream`, the sources must have this upstream version of the package. Debian itself is asked
        only for a version, because each release has the package.
        """
        if self._has(package, upstream) or (is_debian() and upstream is None):
            return self
        bookworm = self.bookworm(progress)
        return bookworm if bookworm is not None and bookworm._has(package, upstream) else self

    def bookworm(self, progress: Progress | None = None) -> Apt | None:
        """Return the sources of Debian 12; None if this host has no keys to verify them."""
        if self._debian_keyring(progress) is None and not is_debian():
            return None
        return self.debian("bookworm", progress)

    def debian(self, codename: str, progress: Progress | None = None) -> Apt:
        """Return a release's sources: these if they have its backports. DriverFetchError: keys are missing.

        `codename`: ``trixie`` (Debian 13), or ``sid``, Debian unstable.
        """
        own = os_release().get("VERSION_CODENAME") if self._sources is None and is_debian() else ""
        if own == codename and any((self._folder / "lists").glob(f"*_{own}-backports_*")):
            return self
        keyring = self._debian_keyring(progress)
        if keyring is None and not is_debian():
            raise DriverFetchError(
                f"{distribution()} has no package {KEYRING_PACKAGE} to verify Debian's packages with."
            )
        release = Apt(self._folder / codename, debian_sources(codename, keyring), self._downloads)
        release.update(progress)
        return release

    def _debian_keyring(self, progress: Progress | None) -> Path | None:
        """Return a file with Debian's keys; None if there is none (Debian itself then uses apt's own).

        On a derivative, it is that in its package of Debian's keyring, so the chain of trust also starts with
        the system's keys.
        """
        keyring = system_keyring()
        if keyring is not None or is_debian() or not self.versions(KEYRING_PACKAGE):
            return keyring
        keys = self._folder / "debian-keys"
        keyring = keys / "usr" / "share" / "keyrings" / KEYRINGS[0]
        if not keyring.is_file():
            self.unpack([self.newest(KEYRING_PACKAGE)], keys, progress)
        return keyring

    def _has(self, package: str, upstream: str | None) -> bool:
        return any(upstream in (None, version.upstream) for version in self.versions(package))

    def _installed(self) -> set[str]:
        query = ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package}\n"]
        lines = self._output(query).splitlines()
        return {line.split()[1] for line in lines if line.startswith("installed ")}

    def _source_lists(self) -> list[str]:
        """Return lists of sources, in the order to try."""
        if self._sources is not None:
            return [self._sources]
        codename = os_release().get("VERSION_CODENAME", "")
        if not is_debian() or not codename:
            system = system_sources().text
            if not system:
                raise DriverFetchError(
                    f"The apt of this host has no source of packages.{self.omitted}\n{INSTALL_INSTEAD}"
                )
            return [system]
        keyring = system_keyring()
        option = f"[signed-by={keyring}] " if keyring else ""
        mirrors = self._mirrors()
        mirror = mirrors.get(codename, DEBIAN_MIRROR)
        security = mirrors.get(f"{codename}-security", DEBIAN_SECURITY_MIRROR)
        lines = [f"deb {option}{mirror} {codename} main", f"deb {option}{security} {codename}-security main"]
        backports = f"deb {option}{mirror} {codename}-backports main"
        # Testing and unstable have no backports, and some mirrors lack them.
        return ["\n".join([*lines, backports]), "\n".join(lines), lines[0]]

    def _mirrors(self) -> dict[str, str]:
        """Return the mirror of each suite in the system's sources."""
        template = "$(CREATED_BY) $(REPO_URI) $(RELEASE)"
        command = ["apt-get", "indextargets", "--no-release-info", "--format", template]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = [line.split() for line in done.stdout.splitlines()]
        return {row[2]: row[1].rstrip("/") for row in rows if len(row) == 3 and row[0] == "Packages"}

    def _configure(self, sources: str) -> None:
        """Write apt's configuration: proxies and timeouts of the system, private folders, no hooks."""
        path = self._folder / ("list.sources" if sources.startswith("Types:") else "sources.list")
        path.write_text(sources + "\n")
        lists, archives = self._folder / "lists", self._folder / "cache" / "archives"
        for part in (lists / "partial", archives / "partial"):
            part.mkdir(parents=True, exist_ok=True)
        self._empty_status.write_text("")
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
        lines = [line for line in dump.splitlines() if _CONNECTION.match(line)]
        settings = {
            "Dir::State::Lists": f"{lists}/",
            "Dir::Cache": f"{self._folder / 'cache'}/",
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::parts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::Etc::sourcelist": str(path),
            "Dir::Etc::sourceparts": "/dev/null",
            "Debug::NoLocking": "1",
            "APT::Get::AllowUnauthenticated": "false",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::AllowWeakRepositories": "false",
            "Acquire::AllowDowngradeToInsecureRepositories": "false",
            "Acquire::Languages": "none",
            "Acquire::GzipIndexes": "true",
            "Acquire::Retries": "2",
            "APT::Update::Error-Mode": "any",  # a failed list is an error, not a warning
            "APT::Sandbox::User": "root",  # the user _apt cannot write into this user's cache
        }
        lines += [f'{name} "{value}";' for name, value in settings.items()]
        (self._folder / "apt.conf").write_text("\n".join(lines) + "\n")

    def _output(self, command: Sequence[str]) -> str:
        done = subprocess.run(command, capture_output=True, text=True, env=self._environment, check=False)
        if done.returncode:
            raise _failure(command, done.stdout + done.stderr)
        return done.stdout

    def _run_with_progress(
        self, arguments: Sequence[str], what: str, progress: Progress | None, folder: Path | None = None
    ) -> None:
        read_end, write_end = os.pipe()
        command = ["apt-get", "-qq", "-o", f"APT::Status-Fd={write_end}", *arguments]
        with tempfile.TemporaryFile("w+") as log:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=self._environment,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    pass_fds=[write_end],
                )
            finally:
                os.close(write_end)
            try:
                with os.fdopen(read_end, errors="replace") as status:
                    for line in status:
                        fields = line.split(":")
                        if progress and fields[0] == "dlstatus" and len(fields) > 2:
                            progress(what, min(float(fields[2]) / 100, 1.0))
                code = process.wait()
            except BaseException:
                process.kill()
                process.wait()
                raise
            log.seek(0)
            if code:
                raise _failure(command, log.read())
        if progress:
            progress(what, 1.0)


def _archives(package: Package, folder: Path) -> list[Path]:
    """Return the downloaded file of a package; empty if there is none."""
    return list(folder.glob(f"{package.name}_{package.version.replace(':', '%3a')}_*.deb"))


def extract(archive: Path, into: Path) -> None:
    """Unpack the files of a package into a folder; raise DriverFetchError if that fails."""
    command = ["dpkg-deb", "--extract", str(archive), str(into)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise _failure(command, done.stdout + done.stderr)


def _failure(command: Sequence[str], output: str) -> DriverFetchError:
    lines = [line for line in output.splitlines() if line.startswith(("E:", "W:", "dpkg"))]
    unverified = next((line[2:].strip() for line in lines if _UNVERIFIED.search(line)), None)
    if unverified is not None:
        return DriverFetchError(f"Packages that cannot be verified are refused: {unverified}")
    reason = "\n".join((lines or output.splitlines())[-6:]) or "no message"
    shown = next((word for word in command[1:] if not word.startswith("-") and "=" not in word), "")
    return DriverFetchError(f"`{command[0]} {shown}` failed:\n{reason}\n{INSTALL_INSTEAD}")
