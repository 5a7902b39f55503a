"""Output of commands: JSON to a file or to standard output, and text for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import IO, Any, TextIO

from vkgroup.base.choices import SOURCE_DIALECTS
from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_whole

UNDECIDED = 125
"""The exit code with ``--bisect`` where there is no verdict: ``git bisect run`` skips such a commit."""

_LEAST = 20
"""Columns of a terminal below which the last column of a table is not wrapped."""


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


SOURCES = frozenset({*SOURCE_DIALECTS, ".comp", ".frag", ".vert", ".glsl", ".spv", ".spvasm", ".amber"})
"""Suffixes of shaders, which no file of results has."""


def refuse_replacing(
    written: Mapping[str, str | Path | None], read: Iterable[str | Path], reader: str
) -> None:
    """Raise InvalidInput if a file of results cannot be written, or would replace another one.

    `written`: by option. `read`: the files that are read, and `reader` who does.
    """
    known: dict[Path, str] = {Path(path).resolve(): reader for path in read}
    for option, file in written.items():
        require_writable(file)
        if file in (None, "-"):
            continue
        path = Path(str(file)).resolve()
        if path.suffix in SOURCES or path in known:
            why = f"which {known[path]}" if path in known else "which has the name of a shader"
            raise InvalidInput(f"{option} {file} would replace {file}, {why}: give the name of another file.")
        known[path] = f"{option} writes"


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


def table(rows: list[list[str]], stream: IO[str]) -> None:
    """Print `rows` in aligned columns; on a terminal, what does not fit of the last one goes on below."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)] if rows else []
    indent = " " * sum(width + 2 for width in widths)
    room = get_terminal_size().columns - len(indent) if stream.isatty() else 0
    for row in rows:
        first, *rest = wrap(row[-1], room, break_long_words=False) if room > _LEAST else [row[-1]]
        cells = [*(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)), first]
        for line in ["  ".join(cells), *(indent + part for part in rest)]:
            print(line.rstrip(), file=stream)


def megabytes(size: int) -> str:
    """Return a size with a suitable unit: ``31.6 MB``."""
    return f"{size / 1e6:.1f} MB"
