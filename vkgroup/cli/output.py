"""Output of commands: JSON to a file or to standard output, and text for people."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, TextIO

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_whole

UNDECIDED = 125
"""The exit code with ``--bisect`` where there is no verdict: ``git bisect run`` skips such a commit."""


def people(json_file: str | None) -> TextIO:
    """Return the stream for people: standard error if JSON goes to standard output (``--json -``)."""
    return sys.stderr if json_file == "-" else sys.stdout


def require_writable(file: str | Path | None) -> None:
    """Raise InvalidInput if a file of results cannot be written; call this before the work."""
    if file is None or file == "-":
        return
    path = Path(file)
    if path.is_dir() or not path.parent.is_dir():
        why = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InvalidInput(f"{file} cannot be written: {why}")


def write_json(data: Any, json_file: str | None) -> None:
    """Write `data` to the file of ``--json``; ``-`` means standard output, None writes nothing.

    The file is replaced atomically, so it is complete even if the process is killed.
    """
    if json_file is None:
        return
    text = json.dumps(data, indent=2) + "\n"
    if json_file == "-":
        sys.stdout.write(text)
        return
    try:
        write_whole(Path(json_file), text)
    except OSError as error:
        raise InvalidInput(f"{json_file} cannot be written: {error.strerror}") from error


def table(rows: list[list[str]], stream: TextIO) -> None:
    """Print `rows` in aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip(), file=stream)


def megabytes(size: int) -> str:
    """Return a size with a suitable unit: ``31.6 MB``."""
    return f"{size / 1e6:.1f} MB"


def show_progress(what: str, fraction: float) -> None:
    """Print progress on one line that is overwritten, if standard error is a terminal."""
    if sys.stderr.isatty():
        end = "\n" if fraction >= 1 else ""
        print(f"\r\x1b[Kfetching {what} {fraction:4.0%}", end=end, file=sys.stderr, flush=True)
