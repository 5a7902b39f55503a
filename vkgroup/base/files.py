"""Atomic writing of files, and the user's cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import platformdirs

from vkgroup.base.errors import InvalidInput

if TYPE_CHECKING:
    import numpy.typing as npt


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
    try:
        folder = Path(platformdirs.user_cache_dir("vkgroup"))
    except RuntimeError:  # newer versions raise an error without a home, older ones keep the "~"
        folder = Path("~")
    home = Path(os.path.expanduser("~"))
    missing = folder.is_relative_to(home) and not home.is_dir()
    return folder if folder.is_absolute() and not missing else Path(os.devnull, "vkgroup")


def expanded(name: str) -> Path:
    """Return a path with ``~`` replaced; unchanged if there is no such home."""
    return Path(os.path.expanduser(name))
