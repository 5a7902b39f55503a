"""Files: reading, atomic writing, the user's cache folder, and the package's own files.

Opening a pipe without a writer blocks, and reading a device such as ``/dev/zero`` never ends. Every module
that reads a file which a user or a document names uses the functions of this module;
`tests/base/test_reading.py` checks this.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.base.suggestions import similar

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


def require_exists(path: Path) -> None:
    """Raise InvalidInput, with the nearest name in its folder, if a file or folder does not exist."""
    missing = [part for part in (path, *path.parents) if not os.path.lexists(part)]
    if missing and "\0" not in str(path):
        folder, name = missing[-1].parent, missing[-1].name
        names = similar(name, os.listdir(folder) if folder.is_dir() else [])
        hint = "".join(f" Did you mean {str(folder / near)!r}?" for near in names)
        why = f"No such file or directory: {folder.absolute()} has no {name}"
        raise InvalidInput(f"{path} cannot be read: {why}.{hint}")


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


PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the package vkgroup."""


def shaders() -> Path:
    """Return the folder of vkgroup's shaders."""
    return _folder("shaders", PACKAGE / "shaders", PACKAGE.parent / "shaders")


def shader(name: str) -> Path:
    """Return one of vkgroup's shaders by its path in that folder: ``"probe/layout.comp"``."""
    return _file(shaders(), name, "shader")


def kernels() -> Path:
    """Return the folder of the GLSL kernels."""
    return _folder("kernels", PACKAGE / "kernels" / "glsl", PACKAGE.parent / "kernels")


def kinds() -> Path:
    """Return the folder of the pages on the kinds of findings."""
    return _folder("kinds", PACKAGE / "check" / "kinds", PACKAGE.parent / "docs" / "shaders" / "kinds")


def kernel(name: str) -> Path:
    """Return a kernel by its path in that folder: ``"reduce/subgroup.comp"``."""
    return _file(kernels(), name, "kernel")


def _folder(what: str, *candidates: Path) -> Path:
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise VkgroupError(f"This installation of vkgroup in {PACKAGE} has no {what}. Install it again.")


def _file(folder: Path, name: str, what: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise VkgroupError(f"vkgroup has no {what} {name} in {folder}.")
    return path


def bench(part: str) -> Path:
    """Return a folder of the benchmarks: ``"definitions"``, ``"peers"`` or ``"shaders"``."""
    return _folder(f"bench/{part}", PACKAGE / "bench" / part, PACKAGE.parent / "bench" / part)


class Unwritable(InvalidInput):
    """A file that cannot be written, for example because the disk is full."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise an OSError of the block, which writes a file, as `Unwritable`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise Unwritable(f"{path} cannot be written: {reason}; make room or name another folder") from error


class _Stream:
    """A stream without a file number, for which NumPy calls ``write``.

    To a file, NumPy writes by C functions and does not notice if the last bytes do not fit on the disk.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.write = stream.write


def write_array(path: Path, array: npt.NDArray[Any]) -> None:
    """Write an array as an .npy file; raise OSError if a part of it cannot be written."""
    import numpy as np  # most commands that only need other functions of this file do not need it

    with path.open("wb") as stream:
        np.save(_Stream(stream), array, allow_pickle=False)


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a file under a temporary name and rename it, so that an interruption leaves no partial file.

    `text`: the content, or its parts in order, which are not all in memory at the same time.

    Symbolic links stay links; devices and pipes are written to directly.

    Raises OSError: the file cannot be written; an existing file is unchanged.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        _write(path, text)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write(beside, text)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _write(path: Path, text: str | Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines((text,) if isinstance(text, str) else text)


def write_output(path: Path, text: str | Iterable[str], advice: str = "") -> None:
    """Write a file atomically, and make its folders; see `write_whole`.

    Raises InvalidInput: the file cannot be written. The message has the reason and the advice.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}" + (advice and f"; {advice}")) from error


def cache_folder() -> Path:
    """Return vkgroup's cache folder: ``VKGROUP_CACHE``, else a folder in the system's cache.

    For a user without a home directory the path cannot exist, so nothing is cached. A home that does not
    exist, as services have, is not created.
    """
    chosen = os.environ.get("VKGROUP_CACHE")
    if chosen:
        return expanded(chosen)
    # Imported here, because the bootstrap has the standard library only.
    import platformdirs

    try:
        folder = Path(platformdirs.user_cache_dir("vkgroup"))
    except RuntimeError:  # newer versions raise an error without a home, older ones keep the "~"
        folder = Path("~")
    home = Path(os.path.expanduser("~"))
    missing = folder.is_relative_to(home) and not home.is_dir()
    return folder if folder.is_absolute() and not missing else Path(os.devnull, "vkgroup")


def missing_cache() -> str:
    """Return what to do if there is no cache, for a user without a home directory; empty if there is."""
    if not cache_folder().is_relative_to(os.devnull):
        return ""
    return "There is no cache of drivers: HOME names no folder. Set HOME, or VKGROUP_CACHE to a folder."


def expanded(name: str) -> Path:
    """Return a path with ``~`` replaced; unchanged if there is no such home."""
    return Path(os.path.expanduser(name))
