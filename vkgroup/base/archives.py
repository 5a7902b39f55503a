"""Safe extraction of tar archives: names, kinds and sizes of members are not trusted."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from vkgroup.base.files import require_regular

MOST_BYTES = 4 << 30
"""Size of all files of an archive at most; a small archive can contain terabytes of zeros."""

MOST_MEMBERS = 100_000
"""Members of an archive at most."""

MOST_HEADER_BYTES = 1 << 20
"""Size of a name or of the attributes of a member at most."""

_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
"""Types of headers with a name or attributes of the next member."""

_SPARSE = "it contains a file with holes"


class DamagedArchive(Exception):
    """An archive that cannot be extracted; the message says why, without the name of the archive."""


def extract_files(archive: Path, folder: Path) -> None:
    """Extract the regular files of a tar archive into `folder`; links and devices are skipped.

    Replaces tarfile's ``filter="data"``, which Python 3.11.2 of Debian 12 does not have.

    Raises DamagedArchive: the archive cannot be read, or contains a path outside of `folder`, two files of
    the same name, a file with holes, or more than `MOST_BYTES`, `MOST_MEMBERS` or `MOST_HEADER_BYTES`.
    """
    try:
        require_regular(archive)
        with tarfile.open(archive, tarinfo=_Header) as tar:
            _extract(tar, folder)
    except OSError as error:
        raise DamagedArchive(error.strerror or str(error)) from error
    except RecursionError as error:
        raise DamagedArchive("it has thousands of headers for one file") from error
    # What the content of a damaged archive can raise: a name with a NUL character is a ValueError.
    except (tarfile.TarError, EOFError, LZMAError, zlib.error, ValueError, OverflowError) as error:
        # tarfile lists the reason of every compression in a line of its own.
        raise DamagedArchive((str(error) or "it ends early").splitlines()[0].rstrip(":")) from error


class _Header(tarfile.TarInfo):
    """A header without what tarfile reads at once in any size: names, attributes and lists of holes."""

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise DamagedArchive(_SPARSE)

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.size > MOST_HEADER_BYTES and self.type in _HEADERS:
            limit = f"{MOST_HEADER_BYTES} are allowed"
            raise DamagedArchive(f"the name or the attributes of a member take {self.size} bytes; {limit}")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise DamagedArchive(_SPARSE)
        member: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return member


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    names: set[PurePosixPath] = set()
    total = 0
    for number, member in enumerate(tar):
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts:
            raise DamagedArchive(f"it contains a path outside of the archive: {member.name!a}")
        if member.size < 0:  # it would make room for other files
            raise DamagedArchive(f"it contains a negative size: {member.name!a}")
        total += member.size
        if total > MOST_BYTES or number >= MOST_MEMBERS:
            raise DamagedArchive(f"it contains more than {MOST_BYTES >> 30} GiB or {MOST_MEMBERS} files")
        content = tar.extractfile(member) if member.isfile() else None
        if content is None:
            continue
        if name in names:
            raise DamagedArchive(f"it contains {member.name!a} twice")
        names.add(name)
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)
