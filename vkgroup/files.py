"""Files that are whole at any time."""

from __future__ import annotations

import os
from pathlib import Path


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
