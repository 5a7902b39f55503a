"""Reading of files that a user or a document names; devices, pipes and sockets are refused without opening.

Opening a pipe without a writer blocks, and reading a device such as ``/dev/zero`` never ends. Every module
that reads such a file uses these functions; `tests/base/test_reading.py` checks this.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class NotRegular(OSError):
    """A device, a pipe, a socket, or a name that no file can have; `strerror` says what to give instead."""

    def __str__(self) -> str:
        return str(self.strerror)


def require_regular(path: Path | str) -> None:
    """Raise OSError if a path is a device, a pipe or a socket, or if it does not exist; nothing is opened."""
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:  # a NUL character, or a lone surrogate that does not stand for a byte
        raise NotRegular(errno.EINVAL, "its name contains a character that no file name can have") from error
    kind = _KINDS.get(stat.S_IFMT(mode))
    if kind is not None:
        raise NotRegular(errno.EINVAL, f"it is {kind}; give a regular file", str(path))


def require_regular_if_exists(path: Path | str) -> None:
    """Raise OSError if a path, which need not exist, is a device, a pipe or a socket; nothing is opened."""
    try:
        require_regular(path)
    except FileNotFoundError:
        return


def printable(path: Path | str) -> str:
    """Return a path as text that UTF-8 can encode; other bytes of a name become ``\\udcff`` and the like."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def is_inside(path: Path | str, folder: Path) -> bool:
    """Return whether a path, with its symbolic links resolved, lies in a folder."""
    try:
        return Path(path).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file can have
        return False


def read_bytes(path: Path | str) -> bytes:
    """Return the content of a regular file; raise OSError as `require_regular` and ``open`` do."""
    require_regular(path)
    return Path(path).read_bytes()


def read_text(path: Path | str, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Return the text of a regular file; raise OSError as `read_bytes` does, and UnicodeDecodeError."""
    require_regular(path)
    return Path(path).read_text(encoding=encoding, errors=errors)


def read_array(path: Path | str) -> npt.NDArray[Any]:
    """Return what NumPy loads from a regular file, without pickles.

    NumPy parses the header as Python and allocates the size in it: a damaged file can raise almost any error.
    """
    import numpy as np  # most commands that only need other functions of this file do not need it

    require_regular(path)
    with open(path, "rb") as stream:
        if not stream.read(6).startswith((b"\x93NUMPY", b"PK\x03\x04")):
            raise ValueError("it does not begin like one.")  # NumPy would speak of pickled data
    array: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    return array
