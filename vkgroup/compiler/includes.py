"""Resolution of ``#include``, with a record of all files and paths that the result depends on."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from vkgroup.base.errors import CompileError
from vkgroup.base.files import is_inside, printable, read_bytes
from vkgroup.compiler.request import CompileRequest, decode, failure

#: Maximum depth of inclusion; a deeper one is reported as a cycle without an include guard.
MAXIMUM_DEPTH = 64


def digest(data: bytes) -> bytes:
    """Return the digest used to compare included files, 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


@dataclass
class Dependencies:
    """Included files with the digests of their bytes, and paths that were searched without finding a file.

    A compiled module can be reused if all of them are unchanged. A new file at a path in `absent` would
    change the result of an ``#include``.
    """

    present: dict[str, bytes] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)

    def still_hold(self) -> bool:
        """Return whether all files are unchanged."""
        if any(os.path.isfile(path) for path in self.absent):
            return False
        try:
            return all(digest(read_bytes(path)) == known for path, known in self.present.items())
        except OSError:
            return False


class Included(NamedTuple):
    """An included file: its name in diagnostics, and its text."""

    name: str
    text: str


class IncludeError(Exception):
    """An ``#include`` that cannot be resolved; the message becomes the diagnostic of its line."""


def outside_of(path: str, folder: Path | None) -> str:
    """Return the message for an included file outside of the folder that includes are confined to."""
    return (
        f"{path} lies outside of {folder}, which its sources must not leave; if the folder is your own, give "
        "--allow-outside"
    )


def require_unconfined(request: CompileRequest, compiler: str) -> None:
    """Raise CompileError for a confined source with includes, for a compiler that reads them itself."""
    if request.confined_to is not None and request.has_includes:
        raise failure(request.name, 0, f"{compiler} cannot confine includes to {request.confined_to}")


class Includer:
    """Resolves the includes of one compilation.

    ``#include "name"`` searches the folder of the including file, then the include paths.
    ``#include <name>`` searches only the include paths. Files outside of `confined_to` are not read.
    """

    def __init__(
        self, folder: Path | None, include_paths: Sequence[Path], confined_to: Path | None = None
    ) -> None:
        self._folder = folder
        self._confined_to = confined_to
        self._paths = [str(path) for path in include_paths]
        self._stack: list[str] = []
        self.dependencies = Dependencies()

    def include(self, name: str, includer: str, depth: int, local: bool) -> Included:
        """Return the file of an ``#include``; `local` is true for a name in quotes.

        `includer` is the name of the including file as in `Included`; for the main source it is empty and
        `depth` is 1. Raises IncludeError if the file is missing, unreadable, not text, or part of a cycle.
        """
        path = self._find(name, includer, local)
        del self._stack[depth - 1 :]
        if depth > MAXIMUM_DEPTH:
            if path not in self._stack:
                raise IncludeError(f"includes nested deeper than {MAXIMUM_DEPTH}")
            last = len(self._stack) - 1 - self._stack[::-1].index(path)
            raise IncludeError("include cycle: " + " → ".join([*self._stack[last:], path]))
        self._stack.append(path)
        try:
            data = read_bytes(path)
        except OSError as error:
            raise IncludeError(f"{path} cannot be read: {error.strerror or error}") from None
        self.dependencies.present[path] = digest(data)
        if not data.strip():
            return Included(path, "")
        try:
            return Included(path, decode(data, path))
        except CompileError as error:
            first = error.diagnostics[0]
            raise IncludeError(f"{first.file}:{first.line}: {first.message}") from None

    def _find(self, name: str, includer: str, local: bool) -> str:
        folders = list(self._paths)
        if local and includer:
            folders.insert(0, os.path.dirname(includer))
        elif local and self._folder is not None:
            folders.insert(0, str(self._folder))
        outside = ""
        for folder in folders:
            candidate = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(candidate):
                if self._confined_to is None or is_inside(candidate, self._confined_to):
                    return candidate
                outside = candidate
            self.dependencies.absent.add(candidate)
        if outside:
            raise IncludeError(outside_of(outside, self._confined_to))
        looked = ", ".join(folder or "." for folder in folders) or "no folder: give include paths"
        raise IncludeError(f"no such file (searched: {looked})")


@dataclass
class Inclusion:
    """State that a compilation shares with its include callbacks."""

    includer: Includer  # resolves the includes
    # references to C memory that the compiler reads while it runs
    references: list[Any] = field(default_factory=list)
    # exception raised in a callback; it must not unwind through C, so it is raised later
    crash: BaseException | None = None
    _refused: tuple[str, str, int] | None = None
    _reason: bytes = b""

    def answer(self, name: str, includer: str, depth: int, local: bool) -> tuple[bytes, bytes]:
        """Return the file's name and text; on failure an empty name and the reason.

        If ``#include "…"`` fails, glslang asks again with ``<…>``. The include paths have already been
        searched, so the same reason is returned.
        """
        if (name, includer, depth) == self._refused:
            self._refused = None
            return b"", self._reason
        try:
            included = self.includer.include(name, includer, depth, local)
        except IncludeError as error:
            self._reason = printable(str(error)).encode()
            self._refused = (name, includer, depth) if local else None
            return b"", self._reason
        return printable(included.name).encode(), included.text.encode()


_DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


class Cycle(NamedTuple):
    """Files that include each other in a cycle, and the location of the ``#include`` that closes it."""

    file: str
    line: int
    paths: tuple[str, ...]


def scan(includer: Includer, source: str, name: str) -> Cycle | None:
    """Read all files that the text may include, also in skipped branches; return the first include cycle.

    The includer's dependencies then contain those of any compiler that searches the same folders. A cycle is
    harmless if an include guard ends it.
    """
    cycles: list[Cycle] = []
    done: set[str] = set()

    def visit(text: str, file: str, chain: tuple[str, ...]) -> None:
        for match in _DIRECTIVE.finditer(text):
            wanted = match[1] or match[2]
            try:
                included = includer.include(
                    wanted, chain[-1] if chain else "", len(chain) + 1, bool(match[1])
                )
            except IncludeError:
                continue  # reported by the compiler, unless the directive is in a skipped branch
            if included.name in chain:
                line = text.count("\n", 0, match.start()) + 1
                cycles.append(Cycle(file, line, (*chain[chain.index(included.name) :], included.name)))
            elif included.name not in done:
                done.add(included.name)
                visit(included.text, included.name, (*chain, included.name))

    visit(source, name, ())
    return cycles[0] if cycles else None
