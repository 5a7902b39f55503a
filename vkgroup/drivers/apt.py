"""The distribution's own signed packages, asked for and downloaded without root.

``apt-get`` runs on lists, cache and configuration of its own in the user's cache, so it neither
needs root nor touches the system's; what it downloads it verifies against the signed lists as
always. From the system come the proxies (``Acquire::*``), the trusted keys and, where the
distribution is not Debian itself, the sources.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from vkgroup.errors import DriverFetchError

Progress = Callable[[str, float], None]
"""Called with what is being done and how much of it is done (0 to 1)."""

INSTALL_INSTEAD = """Install a Vulkan driver with the system's own means instead:
  Debian, Ubuntu   sudo apt-get install libvulkan1 mesa-vulkan-drivers
  Fedora           sudo dnf install vulkan-loader mesa-vulkan-drivers
  Arch             sudo pacman -S vulkan-icd-loader vulkan-swrast
or carry one over from a machine that has a network: `make bundle DRIVERS=swiftshader` there, then
`make conform OFFLINE=FOLDER` here."""

_LISTS_STAY_FRESH = 6 * 3600.0  # seconds; a download that the archive no longer has refreshes at once
_DEBIAN_MIRROR = "http://deb.debian.org/debian"
_DEBIAN_SECURITY_MIRROR = "http://deb.debian.org/debian-security"
_KEYRING_PACKAGE = "debian-archive-keyring"
_KEYRINGS = ("debian-archive-keyring.gpg", "debian-archive-keyring.pgp")


@dataclass(frozen=True)
class Package:
    """One version of a package that the sources offer.

    Attributes
    ----------
    name, version : as the distribution writes them.
    suite : the suite that has it, such as ``bookworm-backports``.
    """

    name: str
    version: str
    suite: str

    @property
    def upstream(self) -> str:
        """The version without the distribution's epoch and revision: ``25.0.7``."""
        return self.version.split(":", 1)[-1].rsplit("-", 1)[0].split("+", 1)[0]


def _os_release() -> Mapping[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def distribution() -> str:
    """The distribution's id and release: ``debian-12``, ``ubuntu-24.04``; ``unknown`` elsewhere."""
    release = _os_release()
    words = [release.get("ID", ""), release.get("VERSION_ID") or release.get("VERSION_CODENAME", "")]
    return "-".join(word for word in words if word) or "unknown"


def is_debian() -> bool:
    """Whether this is Debian itself, no derivative."""
    return _os_release().get("ID") == "debian"


def _debian_sources(keyring: Path) -> str:
    """Debian's release before the current one, whose libraries need no newer C library than Ubuntu has."""
    option = f"[signed-by={keyring}]"
    return (
        f"deb {option} {_DEBIAN_MIRROR} oldstable main\n"
        f"deb {option} {_DEBIAN_SECURITY_MIRROR} oldstable-security main"
    )


class Apt:
    """``apt-get`` with lists, cache and configuration in `folder`.

    Not for several processes at once: the caller holds a lock on `folder`.

    Parameters
    ----------
    folder : kept between calls; holds the package lists.
    sources : lines of apt's list of sources; None takes those of the system, on Debian with the
        backports.

    Raises
    ------
    DriverFetchError
        The host has no ``apt-get`` or no ``dpkg-deb``.
    """

    def __init__(self, folder: Path, sources: str | None = None) -> None:
        for tool in ("apt-get", "apt-cache", "apt-config", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise DriverFetchError(
                    f"Software drivers are fetched as packages of Debian or Ubuntu, but this host "
                    f"({distribution()}) has no `{tool}`.\n{INSTALL_INSTEAD}"
                )
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder.resolve()
        self._sources = sources
        self._empty_status = self._folder / "status"
        self._stamp = self._folder / "updated"
        self._environment = {**os.environ, "LC_ALL": "C", "APT_CONFIG": str(self._folder / "apt.conf")}

    def update(self, progress: Progress | None = None, *, force: bool = False) -> bool:
        """Refresh the package lists where they are older than some hours (or minutes, with `force`).

        Returns whether anything was refreshed.
        """
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
            except DriverFetchError:
                if number + 1 == len(attempts):
                    raise
            else:
                self._stamp.touch()
                break
        return True

    def versions(self, package: str) -> list[Package]:
        """Every version of `package` that the sources offer, newest first."""
        found: list[Package] = []
        for line in self._output(["apt-cache", "madison", package]).splitlines():
            columns = [column.strip() for column in line.split("|")]
            source = columns[2].split() if len(columns) == 3 else []
            if len(source) >= 3 and source[-1] == "Packages":
                found.append(Package(columns[0], columns[1], source[1].split("/")[0]))
        return list({(p.name, p.version): p for p in reversed(found)}.values())[::-1]

    def newest(self, package: str) -> Package:
        """The newest version of `package`; DriverFetchError where the sources have none."""
        versions = self.versions(package)
        if not versions:
            raise DriverFetchError(
                f"The package sources of {distribution()} have no `{package}`.\n{INSTALL_INSTEAD}"
            )
        return versions[0]

    def size(self, package: Package) -> int:
        """Bytes to download for one package."""
        shown = self._output(["apt-cache", "show", f"{package.name}={package.version}"])
        match = re.search(r"^Size: (\d+)$", shown, re.MULTILINE)
        return int(match.group(1)) if match else 0

    def with_dependencies(self, packages: Sequence[Package], *, skip_installed: bool) -> list[Package]:
        """`packages` and what they depend on, the C library left out.

        Parameters
        ----------
        skip_installed : leave out dependencies that the host has installed in any version.
        """
        # An empty database of installed packages makes the answer the whole closure, and keeps apt
        # from upgrading what the host has installed, which is not ours to touch.
        command = ["apt-get", "install", "--print-uris", "--yes", "--no-install-recommends"]
        command += ["-o", f"Dir::State::status={self._empty_status}"]
        for package in packages:
            if package.suite.endswith("-backports"):
                command += ["-t", package.suite]
        output = self._output([*command, *(f"{p.name}={p.version}" for p in packages)])
        wanted = {p.name for p in packages}
        left_out = self._installed() if skip_installed else set()
        closure = list(packages)
        for match in re.finditer(r"^'\S+' (\S+)_(\S+)_\S+\.deb ", output, re.MULTILINE):
            name = match.group(1)
            # Two C libraries in one process cannot work; the host's is the one that is running.
            if name in wanted or name in left_out or re.fullmatch(r"libc6|libgcc-s1|gcc-.*-base", name):
                continue
            closure.append(Package(name, unquote(match.group(2)), ""))
        return closure

    def unpack(self, packages: Sequence[Package], into: Path, progress: Progress | None = None) -> None:
        """Download `packages`, verified by apt, and unpack them into one folder."""
        into.mkdir(parents=True, exist_ok=True)
        if not packages:
            return
        with tempfile.TemporaryDirectory(prefix="debs-", dir=self._folder) as downloads:
            command = ["download", *(f"{p.name}={p.version}" for p in packages)]
            what = packages[0].name + (f" and {len(packages) - 1} more" if len(packages) > 1 else "")
            self._run_with_progress(command, what, progress, Path(downloads))
            for archive in sorted(Path(downloads).glob("*.deb")):
                self._output(["dpkg-deb", "--extract", str(archive), str(into)])

    def with_package(self, package: str, progress: Progress | None = None) -> Apt:
        """The sources that have `package`: these, or, where a derivative of Debian lacks it, Debian's.

        Debian's are trusted by the keys in the derivative's own package of them, so that the chain of
        signatures begins at the system's keys there too.
        """
        if is_debian() or self.versions(package) or not self.versions(_KEYRING_PACKAGE):
            return self
        keys = self._folder / "debian-keys"
        keyring = keys / "usr" / "share" / "keyrings" / _KEYRINGS[0]
        if not keyring.is_file():
            self.unpack([self.newest(_KEYRING_PACKAGE)], keys, progress)
        debian = Apt(self._folder / "debian", _debian_sources(keyring))
        debian.update(progress)
        return debian

    def _installed(self) -> set[str]:
        query = ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package}\n"]
        lines = self._output(query).splitlines()
        return {line.split()[1] for line in lines if line.startswith("installed ")}

    def _source_lists(self) -> list[str | None]:
        """Lists of sources to try in turn; None stands for the system's own sources."""
        if self._sources is not None:
            return [self._sources]
        codename = _os_release().get("VERSION_CODENAME", "")
        if not is_debian() or not codename:
            return [None]
        keyrings = [Path("/usr/share/keyrings") / name for name in _KEYRINGS]
        keyring = next((path for path in keyrings if path.is_file()), None)
        # Without the keyring package's file, the keys that apt trusts by itself decide.
        option = f"[signed-by={keyring}] " if keyring else ""
        mirrors = self._mirrors()
        mirror = mirrors.get(codename, _DEBIAN_MIRROR)
        security = mirrors.get(f"{codename}-security", _DEBIAN_SECURITY_MIRROR)
        lines = [f"deb {option}{mirror} {codename} main", f"deb {option}{security} {codename}-security main"]
        backports = f"deb {option}{mirror} {codename}-backports main"
        # Testing and unstable have no backports, and not every mirror carries them.
        return ["\n".join([*lines, backports]), "\n".join(lines), lines[0]]

    def _mirrors(self) -> dict[str, str]:
        """Where the system's own sources get each suite from."""
        template = "$(CREATED_BY) $(REPO_URI) $(RELEASE)"
        command = ["apt-get", "indextargets", "--no-release-info", "--format", template]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = [line.split() for line in done.stdout.splitlines()]
        return {row[2]: row[1].rstrip("/") for row in rows if len(row) == 3 and row[0] == "Packages"}

    def _configure(self, sources: str | None) -> None:
        """Write apt's configuration: the system's proxies and timeouts, folders of our own, no hooks."""
        lists, archives = self._folder / "lists", self._folder / "cache" / "archives"
        for part in (lists / "partial", archives / "partial"):
            part.mkdir(parents=True, exist_ok=True)
        self._empty_status.write_text("")
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
        lines = [line for line in dump.splitlines() if line.startswith("Acquire::")]
        settings = {
            "Dir::State::Lists": f"{lists}/",
            "Dir::Cache": f"{self._folder / 'cache'}/",
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::parts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Debug::NoLocking": "1",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::Languages": "none",
            "Acquire::Retries": "2",
            "APT::Update::Error-Mode": "any",  # a list that could not be fetched is an error, no warning
            "APT::Sandbox::User": "root",  # the user _apt cannot write into this user's cache
        }
        if sources is not None:
            path = self._folder / "sources.list"
            path.write_text(sources + "\n")
            settings |= {"Dir::Etc::sourcelist": str(path), "Dir::Etc::sourceparts": "/dev/null"}
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


def _failure(command: Sequence[str], output: str) -> DriverFetchError:
    lines = [line for line in output.splitlines() if line.startswith(("E:", "W:", "dpkg"))]
    said = "\n".join((lines or output.splitlines())[-6:]) or "no message"
    shown = next((word for word in command[1:] if not word.startswith("-") and "=" not in word), "")
    return DriverFetchError(f"`{command[0]} {shown}` failed:\n{said}\n{INSTALL_INSTEAD}")
