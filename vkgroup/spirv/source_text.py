"""Text of a shader's source file, with the file and number that `#line` directives give its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a source file."""

    file: str  # as passed to the compiler, or as a `#line` directive names it; empty for an unknown line
    number: int  # counted from 1; 0 for an unknown line
    # the column of an instruction in it, counted from 1; 0 if it is unknown
    column: int = field(default=0, compare=False)


NOWHERE = Line("", 0)

_LINE = re.compile(r'\s*#\s*line\s+(\d+)(?:\s+(?:"([^"]*)"|\d+))?\s*$')
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)")
_OPENING, _CLOSING = ("if", "ifdef", "ifndef"), "endif"


class SourceText:
    """The text of a source file.

    `file`: its name, as in `Line`.
    """

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = text.split("\n")
        self._bare = list(_without_comments(text))
        self._places = list(self._numbered())

    @property
    def named_files(self) -> set[str]:
        """The other files that `#line` directives name; their lines are counted without directives."""
        return {place.file for place in self._places} - {self._file, ""}

    def text(self, line: Line) -> str:
        """Return the text of a line; empty if the file has no such line, or if directives number two so."""
        texts = [text for place, text in zip(self._places, self._lines, strict=True) if place == line]
        code = [text for text in texts if text.strip() and not _DIRECTIVE.match(text)]
        chosen = code if len(texts) > 1 else texts
        return chosen[0].rstrip() if len(chosen) == 1 else ""

    def find(self, word: str, start: Line) -> Line:
        """Return the first line with a word outside of comments and directives; `NOWHERE` without one.

        `start`: the line at which the search begins; the first line of the file if the file has no such line.
        """
        pattern = re.compile(rf"(?<![\w.]){re.escape(word)}\b")
        first = self._places.index(start) if start in self._places else 0
        for place, bare in list(zip(self._places, self._bare, strict=True))[first:]:
            if pattern.search(bare) and not _DIRECTIVE.match(bare):
                return place
        return NOWHERE

    def _numbered(self) -> Iterator[Line]:
        """Yield file and number of each line; `NOWHERE` after a directive that may be skipped or is unclear.

        `#line N` gives the next line the number N (GLSL 4.60 §3.3). A file is only known by its name; a
        number of a source string leaves the file as it is. A directive between `#if` and `#endif` may be
        skipped, so the lines after it are unknown up to the next directive outside.
        """
        place, depth = Line(self._file, 1), 0
        for bare in self._bare:
            yield place
            directive = _DIRECTIVE.match(bare)
            name = directive[1] if directive else ""
            depth += (name in _OPENING) - (name == _CLOSING)
            match = _LINE.match(bare)
            if name != "line":
                place = Line(place.file, place.number + 1) if place.number else NOWHERE
            elif match is None or depth > 0:
                place = NOWHERE
            else:
                file = match[2] or place.file
                place = Line(file, int(match[1])) if file else NOWHERE


def _without_comments(source: str) -> Iterator[str]:
    """Yield the lines of a source with comments blanked."""
    blank = re.sub(
        r"//[^\n]*|/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment[0]), source, flags=re.DOTALL
    )
    yield from blank.split("\n")
