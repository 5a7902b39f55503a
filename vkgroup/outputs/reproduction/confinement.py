"""Confinement of a reproduction folder: every file that its record names lies in the folder."""

from __future__ import annotations

from pathlib import Path

from vkgroup.base.errors import InvalidInput
from vkgroup.base.reading import is_inside


def inside(folder: Path, file: str) -> Path:
    """Return the path of a file of a folder.

    Raises InvalidInput: it lies outside of the folder, also by a symbolic link.
    """
    path = folder / file
    if not is_inside(path, folder):
        raise InvalidInput(f"{folder}: {file} lies outside of the folder; make the folder again.")
    return path
