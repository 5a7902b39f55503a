"""Finds what ``#include`` names, and remembers everything that the answer depended on."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vkgroup.compiler.source import decode
from vkgroup.errors import CompileError

#: More levels of inclusion than this are taken for a cycle that no guard ends.
MAXIMUM_DEPTH = 64


def digest(data: bytes) -> bytes:
    """Return the digest by which included files are compared, 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


@dataclass
class Dependencies:
    """Files that were included, with the digest of their bytes, and paths where none was found.

    A compilation can be reused as long as each is as it was: a file that appears at a path tried
    in vain changes what ``#include`` finds.
    """

    present: dict[str, bytes] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)

    def still_hold(self) -> bool:
        """Whether every file is as it was."""
        if any(os.path.isfile(path) for path in self.absent):
            return False
        for path, known in self.present.items():
            try:
                data = Path(path).read_bytes()
            except OSError:
                return False
            if digest(data) != known:
                return False
        return True


@dataclass(frozen=True)
class Included:
    """An included file: the name that diagnostics give it, and its text."""

    name: str
    text: str


class IncludeError(Exception):
    """An ``#include`` that cannot be followed; the message becomes the diagnostic at its line."""


class Includer:
    """Resolves the includes of one compilation.

    ``#include "name"`` looks beside the including file, then in the include paths;
    ``#include <name>`` in the include paths alone.
    """

    def __init__(self, folder: Path | None, include_paths: Sequence[Path]) -> None:
        self._folder = folder
        self._paths = [str(path) for path in include_paths]
        self._stack: list[str] = []
        self.dependencies = Dependencies()

    def include(self, name: str, includer: str, depth: int, local: bool) -> Included:
        """Find and read one file.

        Parameters
        ----------
        name : as written in the source.
        includer : name of the including file as `Included` gave it; empty for the main source.
        depth : 1 for an include of the main source.
        local : whether the name stood in quotes.

        Raises
        ------
        IncludeError
            The file is missing, unreadable, no text, or part of a cycle.
        """
        path = self._find(name, includer, local)
        del self._stack[depth - 1 :]
        if depth > MAXIMUM_DEPTH:
            raise IncludeError(self._too_deep(path))
        self._stack.append(path)
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise IncludeError(f"{path} cannot be read: {error.strerror or error}") from None
        self.dependencies.present[path] = digest(data)
        if not data.strip():
            return Included(path, "")
        try:
            return Included(path, decode(data, path))
        except CompileError as error:
            place = error.diagnostics[0]
            raise IncludeError(f"{place.file}:{place.line}: {place.message}") from None

    def _find(self, name: str, includer: str, local: bool) -> str:
        folders = list(self._paths)
        if local and includer:
            folders.insert(0, os.path.dirname(includer))
        elif local and self._folder is not None:
            folders.insert(0, str(self._folder))
        for folder in folders:
            candidate = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(candidate):
                return candidate
            self.dependencies.absent.add(candidate)
        looked = ", ".join(folder or "." for folder in folders) or "no folder: give include paths"
        raise IncludeError(f"no such file (looked in {looked})")

    def _too_deep(self, path: str) -> str:
        if path in self._stack:
            last = len(self._stack) - 1 - self._stack[::-1].index(path)
            return "include cycle: " + " → ".join([*self._stack[last:], path])
        return f"includes nested deeper than {MAXIMUM_DEPTH}"


@dataclass
class Inclusion:
    """What the include callbacks of one compilation share with it.

    Attributes
    ----------
    includer : finds the files.
    kept : C memory that the compiler reads while it runs.
    crash : an exception of a callback, which may not unwind through C.
    """

    includer: Includer
    kept: list[Any] = field(default_factory=list)
    crash: BaseException | None = None
    _refused: tuple[str, str, int] | None = None
    _reason: bytes = b""

    def answer(self, name: str, includer: str, depth: int, local: bool) -> tuple[bytes, bytes]:
        """Return the file's name and text, or no name and the reason why there is none.

        glslang asks for ``#include "…"`` a second time as ``<…>`` when the answer was no; by then
        the include paths have been looked through, so the reason stays.
        """
        if (name, includer, depth) == self._refused:
            self._refused = None
            return b"", self._reason
        try:
            found = self.includer.include(name, includer, depth, local)
        except IncludeError as error:
            self._reason = str(error).encode()
            self._refused = (name, includer, depth) if local else None
            return b"", self._reason
        return found.name.encode(), found.text.encode()


_DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


@dataclass(frozen=True)
class Cycle:
    """Files that include each other in a ring, and the place of the ``#include`` that closes it."""

    file: str
    line: int
    paths: tuple[str, ...]


def scan(includer: Includer, source: str, name: str) -> Cycle | None:
    """Read every file that the text may include, be it in a branch not taken; return a cycle if any.

    The includer's dependencies are then those of any compiler that looks in the same places. A
    cycle may be harmless: a guard can end it.
    """
    found: list[Cycle] = []
    done: set[str] = set()

    def visit(text: str, file: str, chain: tuple[str, ...]) -> None:
        for match in _DIRECTIVE.finditer(text):
            wanted = match[1] or match[2]
            try:
                included = includer.include(
                    wanted, chain[-1] if chain else "", len(chain) + 1, bool(match[1])
                )
            except IncludeError:
                continue  # the compiler reports it, if it comes by
            if included.name in chain:
                line = text.count("\n", 0, match.start()) + 1
                found.append(Cycle(file, line, (*chain[chain.index(included.name) :], included.name)))
            elif included.name not in done:
                done.add(included.name)
                visit(included.text, included.name, (*chain, included.name))

    visit(source, name, ())
    return found[0] if found else None
