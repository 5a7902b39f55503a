"""Atomic writing of files, and the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from vkgroup.errors import InvalidInput


def write_whole(path: Path, text: str) -> None:
    """Write a file under a temporary name and rename it, so that an interruption leaves no partial file.

    Symbolic links stay links; devices and pipes are written to directly.

    Raises OSError: the file cannot be written; an existing file is unchanged.
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
    """Write a file atomically, and make its folders.

    Raises InvalidInput: the file cannot be written. The message has the reason and the advice.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}" + (advice and f"; {advice}")) from error


def cache_folder() -> Path:
    """Return vkgroup's cache folder: ``VKGROUP_CACHE``, else a folder in the system's cache.

    For a user without a home directory the path cannot exist, so nothing is cached.
    """
    chosen = os.environ.get("VKGROUP_CACHE")
    if chosen:
        return expanded(chosen)
    try:
        folder = Path(platformdirs.user_cache_dir("vkgroup"))
    except RuntimeError:  # newer versions raise an error without a home, older ones keep the "~"
        folder = Path("~")
    return folder if folder.is_absolute() else Path(os.devnull, "vkgroup")


def expanded(name: str) -> Path:
    """Return a path with ``~`` replaced; unchanged if there is no such home."""
    return Path(os.path.expanduser(name))
