"""Unpacking archives without trusting the names in them."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path, PurePosixPath


def extract_files(archive: Path, folder: Path) -> None:
    """Unpack the plain files of a tar archive below `folder`; links and devices are left out.

    Instead of tarfile's ``filter="data"``, which Debian 12's Python 3.11.2 does not have yet.

    Raises
    ------
    tarfile.TarError, OSError, EOFError, lzma.LZMAError
        The archive is damaged, or names a file outside of `folder`.
    """
    with tarfile.open(archive) as tar:
        for member in tar:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise tarfile.TarError(f"{archive} names {member.name}, outside of it")
            content = tar.extractfile(member) if member.isfile() else None
            if content is None:
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with content, target.open("wb") as file:
                shutil.copyfileobj(content, file)
