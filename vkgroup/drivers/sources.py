"""Package sources without the options that accept unsigned, weakly signed or outdated lists.

apt accepts unsigned packages from a source with ``trusted=yes``. vkgroup loads code from packages, so it
reads the system's sources itself, omits those with such an option, and writes the others anew with known
options only: apt then requires a valid signature of each (sources.list(5), "THE DEB AND DEB-SRC TYPES:
OPTIONS").
"""

from __future__ import annotations

import platform
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vkgroup.base.files import read_text

DEBIAN_MIRROR = "http://deb.debian.org/debian"
DEBIAN_SECURITY_MIRROR = "http://deb.debian.org/debian-security"
KEYRING_PACKAGE = "debian-archive-keyring"
KEYRINGS = ("debian-archive-keyring.gpg", "debian-archive-keyring.pgp")

_COPIED = ("Types", "URIs", "Suites", "Components", "Architectures", "Signed-By")
"""Fields that are written anew, by their names in the format deb822."""

_SWITCHES_OFF = {
    **dict.fromkeys(("trusted", "allow-insecure", "allow-weak", "allow-downgrade-to-insecure"), True),
    **dict.fromkeys(("check-valid-until", "check-date"), False),
}
"""Options that switch off a check, with the value that does."""

_ONE_LINE = {"arch": "Architectures", "signed-by": "Signed-By"}
"""Options of the one-line format that are written anew, with the field of deb822."""

_NO = frozenset(("no", "false", "without", "off", "disable", "0"))
"""Words that apt takes as false (apt's `StringToBool`); every other value counts as true here."""


@dataclass(frozen=True)
class SystemSources:
    """The system's package sources."""

    text: str  # the sources with verification, in the format deb822
    omitted: tuple[str, ...]  # the others, for messages: ``https://host/debian (trusted)``


def os_release() -> Mapping[str, str]:
    """Return the entries of the system's ``os-release``; empty if it has none."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def is_debian() -> bool:
    """Return whether this is Debian itself, not a derivative."""
    return os_release().get("ID") == "debian"


def system_keyring() -> Path | None:
    """Return the file of Debian's keyring package; None if the host lacks it (apt then uses its own keys)."""
    keyrings = [Path("/usr/share/keyrings") / name for name in KEYRINGS]
    return next((path for path in keyrings if path.is_file()), None)


def debian_sources(release: str, keyring: Path | None) -> str:
    """Return Debian's sources of a release, with backports and security updates; ``sid`` has neither.

    Debian 12's packages (``bookworm``) work with the C libraries of later releases and of Ubuntu. Those of
    ``trixie`` and ``sid`` are for programs that run with their own C library.
    """
    option = f"[signed-by={keyring}] " if keyring else ""
    lines = [f"deb {option}{DEBIAN_MIRROR} {release} main"]
    if release != "sid":
        lines.append(f"deb {option}{DEBIAN_MIRROR} {release}-backports main")
        lines.append(f"deb {option}{DEBIAN_SECURITY_MIRROR} {release}-security main")
    return "\n".join(lines)


def system_sources() -> SystemSources:
    """Return the sources of this host's apt, without those whose options switch off a check."""
    texts, omitted = [], []
    for fields in _entries():
        if "deb" not in fields.get("types", "").split() or not _truth(fields.get("enabled", "yes")):
            continue
        reasons = [
            name for name, off in _SWITCHES_OFF.items() if name in fields and _truth(fields[name]) == off
        ]
        if reasons:
            omitted.append(f"{' '.join(fields.get('uris', '').split())} ({', '.join(reasons)})")
            continue
        copied = {name: fields[name.lower()] for name in _COPIED if name.lower() in fields}
        copied["Types"] = "deb"
        texts.append("".join(f"{name}: {value}\n" for name, value in copied.items()))
    return SystemSources("\n".join(texts), tuple(omitted))


def _truth(value: str) -> bool:
    return value.strip().lower() not in _NO


def _entries() -> Iterator[dict[str, str]]:
    """Yield the fields of each source, by their names in deb822 in lower case."""
    wanted = ["LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"]
    done = subprocess.run(["apt-config", "shell", *wanted], capture_output=True, text=True, check=False)
    paths = dict(word.split("=", 1) for word in shlex.split(done.stdout) if "=" in word)
    files = [Path(paths.get("LIST", "/etc/apt/sources.list"))]
    parts = Path(paths.get("PARTS", "/etc/apt/sources.list.d"))
    files += sorted(parts.iterdir()) if parts.is_dir() else []
    for file in files:
        try:
            text = read_text(file, errors="replace")
        except OSError:  # missing, or readable by another user only
            continue
        if file.suffix == ".list":
            yield from _one_line_entries(text)
        elif file.suffix == ".sources":
            yield from _deb822_entries(text)


def _one_line_entries(text: str) -> Iterator[dict[str, str]]:
    """Yield the sources of a file with one on each line: ``deb [ option=value ] uri suite component …``."""
    for line in text.splitlines():
        match = re.fullmatch(r"\s*(deb|deb-src)\s+(?:\[([^\]]*)\]\s*)?(.*)", line.partition("#")[0])
        words = match[3].split() if match else []
        if match is None or len(words) < 2:
            continue
        fields = {"types": match[1], "uris": words[0], "suites": words[1], "components": " ".join(words[2:])}
        for option in (match[2] or "").split():
            name, _, value = option.partition("=")
            field = _ONE_LINE.get(name, name).lower()
            fields[field] = value.replace(",", " ") if field == "architectures" else value
        yield {name: value for name, value in fields.items() if value}


def _deb822_entries(text: str) -> Iterator[dict[str, str]]:
    """Yield the sources of a file in the format deb822: stanzas of ``Name: value``."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines)):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line[:1].isspace() and name:
                fields[name] += f"\n{line}"
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                fields[name] = value.strip()
        if fields:
            yield fields
