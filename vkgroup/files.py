"""Files that are whole at any time, and folders of a user who may have none."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from vkgroup.errors import InvalidInput


def write_whole(path: Path, text: str) -> None:
    """Write a file beside a path and let it take that one's place: who is killed leaves no half.

    Links stay links, and what is no file, as a device or a pipe, is written to.

    Raises
    ------
    OSError
        It cannot be written; what was there before still is.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_output(path: Path, text: str, advice: str = "") -> None:
    """Write a file whole, and make the folders that it is in.

    Raises
    ------
    InvalidInput
        That is impossible: says why, and adds the advice.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}" + (advice and f"; {advice}")) from error


def cache_folder() -> Path:
    """Return the user's cache of vkgroup: ``VKGROUP_CACHE``, else where the system keeps such.

    Without either, as for a user without a home, it is a place where nothing can be: there is no cache.
    """
    chosen = os.environ.get("VKGROUP_CACHE")
    if chosen:
        return expanded(chosen)
    try:
        found = Path(platformdirs.user_cache_dir("vkgroup"))
    except RuntimeError:  # newer versions refuse where there is no home, older ones keep the "~"
        found = Path("~")
    return found if found.is_absolute() else Path(os.devnull, "vkgroup")


def expanded(name: str) -> Path:
    """Return a path with ``~`` replaced; as it is where there is no such home."""
    return Path(os.path.expanduser(name))
