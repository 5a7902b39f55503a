"""Source text on its way to a compiler: read, checked, and brought into one form."""

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

# ``#version`` after nothing but spaces and comments (GLSL 4.60 §3.3), up to the end of its line.
_VERSION = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*#[ \t]*version[ \t]+(\d+)([^\n]*)(?:\n|$)", re.DOTALL)

#: GLSL's version where a source has no ``#version``.
DEFAULT_VERSION = 460

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class Request:
    """Everything that decides what a compiler makes.

    Attributes
    ----------
    source : text with line ends of one character, without byte-order mark.
    name : what diagnostics call it.
    stage, dialect, target, optimize, debug, entry_point, lower_legacy : see `compile_source`.
    defines : name and value of each macro.
    include_paths : folders for ``#include``, in order.
    limits : of the implementation, by GL's names; for the GL dialect.
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
        """Where ``#include "…"`` in `source` looks first; None for text without a place."""
        return Path(self.name).parent if os.path.dirname(self.name) or os.path.isfile(self.name) else None

    @property
    def has_includes(self) -> bool:
        """Whether the source has an ``#include`` line, be it in a branch not taken."""
        return "include" in self.source and _INCLUDE.search(self.source) is not None


def find_version(source: str) -> re.Match[str] | None:
    """Find the ``#version`` line: its number is group 1, what follows on the line group 2."""
    return _VERSION.match(source)


def failure(name: str, line: int, message: str) -> CompileError:
    """Make the error of a single message at one place."""
    return CompileError(f"{name} does not compile", [Diagnostic("error", name, line, 0, message)])


def clean(text: str, name: str) -> str:
    """Drop a byte-order mark, make every line end ``\\n``, and refuse what no compiler takes.

    Raises
    ------
    CompileError
        The text is empty, has a NUL character, or cannot be written as UTF-8.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise failure(name, 0, "the source is empty")
    end = text.find("\0")
    if end >= 0:
        raise failure(name, text.count("\n", 0, end) + 1, "the source has a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise failure(
                name, line, f"the source has a character that is no text ({error.reason})"
            ) from None
    return text


def decode(data: bytes, name: str) -> str:
    """Read UTF-8 bytes and `clean` them.

    Raises
    ------
    CompileError
        The bytes are no UTF-8 text, or `clean` refuses it.
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
    """Read a source file.

    Raises
    ------
    CompileError
        The file cannot be read, or is no text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise failure(str(path), 0, f"cannot be read: {error.strerror or error}") from None
    return decode(data, str(path))
