"""Files of unpacked packages, which are not trusted to be regular files of the package."""

from __future__ import annotations

from pathlib import Path

from vkgroup.base.errors import DriverFetchError
from vkgroup.base.files import is_inside, require_regular


def file_of(root: Path, pattern: str) -> Path:
    """Return the file of unpacked packages that matches a pattern.

    Raises DriverFetchError: there is none, it is a device or a pipe, or a link that leads out of `root`.
    """
    files = sorted(path for path in root.glob(pattern) if not path.is_dir())
    if not files:
        raise DriverFetchError(f"The downloaded packages have no {pattern} (any more).")
    _require_own(files[0], root)
    return files[0]


def libraries_of(root: Path) -> list[Path]:
    """Return the shared libraries of unpacked packages, without links, devices and pipes."""
    paths = (path for path in sorted(root.rglob("lib*.so*")) if not path.is_symlink())
    return [path for path in paths if path.is_file()]


def _require_own(path: Path, root: Path) -> None:
    try:
        if not is_inside(path, root):
            raise DriverFetchError(f"The downloaded packages are refused: {path.name} leads out of them.")
        require_regular(path)
    except OSError as error:
        raise DriverFetchError(
            f"The downloaded packages are refused: {path.name}: {error.strerror}."
        ) from error
