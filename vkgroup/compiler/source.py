"""Source text before compilation: reading, checks and normalization."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from vkgroup.compiler.gl.limits import Limits
from vkgroup.compiler.target import Target
from vkgroup.errors import CompileError, Diagnostic
from vkgroup.spec.stages import Stage

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)

# ``#version`` after spaces and comments only (GLSL 4.60 §3.3), up to the end of its line.
_VERSION = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*#[ \t]*version[ \t]+(\d+)([^\n]*)(?:\n|$)", re.DOTALL)

#: GLSL version of a source without ``#version``.
DEFAULT_VERSION = 460

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class Request:
    """All inputs of a compilation.

    Attributes
    ----------
    source : text with line feeds as line ends and without a byte-order mark.
    name : name of the source in diagnostics.
    stage, dialect, target, optimize, debug, entry_point, lower_legacy : see `compile_source`.
    defines : name and value of each macro.
    include_paths : folders for ``#include``, in order.
    limits : implementation limits by OpenGL name; for the GL dialect.
    """

    source: str
    name: str
    stage: Stage
    dialect: str
    target: Target
    optimize: str | None
    debug: bool
    entry_point: str
    defines: tuple[tuple[str, str], ...]
    include_paths: tuple[Path, ...]
    limits: Limits = ()
    lower_legacy: bool = False

    @property
    def folder(self) -> Path | None:
        """Folder that ``#include "…"`` in `source` searches first; None for text without a file."""
        return Path(self.name).parent if os.path.dirname(self.name) or os.path.isfile(self.name) else None

    @property
    def has_includes(self) -> bool:
        """Whether the source has an ``#include`` line, including those in skipped branches."""
        return "include" in self.source and _INCLUDE.search(self.source) is not None


def find_version(source: str) -> re.Match[str] | None:
    """Return the match of the ``#version`` line: group 1 is the number, group 2 the rest of the line."""
    return _VERSION.match(source)


def failure(name: str, line: int, message: str) -> CompileError:
    """Return a CompileError with a single message at one location."""
    return CompileError(f"{name} does not compile", [Diagnostic("error", name, line, 0, message)])


def clean(text: str, name: str) -> str:
    """Return the text without a byte-order mark and with ``\\n`` line ends.

    Raises
    ------
    CompileError
        The text is empty, contains a NUL character, or cannot be encoded as UTF-8.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise failure(name, 0, "the source is empty")
    end = text.find("\0")
    if end >= 0:
        raise failure(name, text.count("\n", 0, end) + 1, "the source contains a NUL character; remove it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise failure(
                name, line, f"the source contains a character that UTF-8 cannot encode ({error.reason})"
            ) from None
    return text


def decode(data: bytes, name: str) -> str:
    """Return the text of UTF-8 bytes after `clean`.

    Raises
    ------
    CompileError
        The bytes are not UTF-8, or `clean` raises the error.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise failure(
            name, line, f"the source is not UTF-8 (byte {data[error.start]:#04x}: {error.reason})"
        ) from None
    return clean(text, name)


def read(path: Path) -> str:
    """Return the text of a source file.

    Raises
    ------
    CompileError
        The file cannot be read or is not text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise failure(str(path), 0, f"cannot be read: {error.strerror or error}") from None
    return decode(data, str(path))
