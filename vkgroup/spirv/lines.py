"""Source texts, and source lines of instructions from `OpLine` or NonSemantic.Shader.DebugInfo."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from vkgroup.base.files import is_inside, read_text
from vkgroup.spirv.binary import Instruction, text_of
from vkgroup.spirv.reflection import Module

_LINE = re.compile(r'\s*#\s*line\s+(\d+)(?:\s+(?:"([^"]*)"|\d+))?\s*$')
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)")
_OPENING, _CLOSING = ("if", "ifdef", "ifndef"), "endif"

_DEBUG_INFORMATION = "NonSemantic.Shader.DebugInfo"
_DEBUG_SOURCE, _DEBUG_LINE, _DEBUG_NO_LINE = 35, 103, 104
"""Instructions of that set, by its specification's table."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a source file."""

    file: str  # as passed to the compiler, or as a `#line` directive names it; empty for an unknown line
    number: int  # counted from 1; 0 for an unknown line
    # the column of an instruction in it, counted from 1; 0 if it is unknown
    column: int = field(default=0, compare=False)


NOWHERE = Line("", 0)


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

    def lines(self) -> Iterator[tuple[Line, str, str]]:
        """Yield each line: its place, its text, and its text without comments."""
        yield from zip(self._places, self._lines, self._bare, strict=True)

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


class LineTable:
    """Lines of a module's instructions (`NOWHERE` without debug information), and its source texts.

    `sources`: the folder in which files that the module names may be read; None for every folder.
    """

    def __init__(self, module: Module, sources: Path | None = None) -> None:
        self._module = module
        self._folder = sources
        self._strings: dict[int, str] = {}
        self._files: dict[int, str] = {}
        self._sets: set[int] = set()
        self._constants: dict[int, int] = {}
        self.sources: dict[str, str] = {}
        self._positions: list[int] = []
        self._lines: list[Line] = []
        self._read()

    def __getitem__(self, position: int) -> Line:
        """Return the line of the instruction whose first word is at `position` in `Module.words`."""
        last = bisect.bisect_right(self._positions, position) - 1
        return self._lines[last] if last >= 0 and position >= 0 else NOWHERE

    @cached_property
    def _texts(self) -> dict[str, SourceText]:
        """The source texts by file."""
        return {file: SourceText(file, text) for file, text in self.sources.items()}

    def text(self, line: Line) -> str:
        """Return the text of a line; empty if its text is neither in the module nor in a file on disk.

        A file on disk is an include, or a file that a `#line` directive names. The path of the latter is
        relative to the folder of the source in the module, or to the working directory.
        """
        if line.file in self._texts or not line.number:
            return self._texts[line.file].text(line) if line.number else ""
        text = self._on_disk(line.file)
        # A directive counts the physical lines of the file that it names.
        lines = text.split("\n")[line.number - 1 :]
        return (
            lines[0].rstrip()
            if self._is_named(line.file) and lines
            else SourceText(line.file, text).text(line)
        )

    @property
    def files(self) -> set[str]:
        """The files that instructions come from."""
        return {line.file for line in self._lines if line.number}

    @property
    def texts(self) -> dict[str, SourceText]:
        """The texts of the sources in the module, and of other files that its instructions come from."""
        others = self.files - self.sources.keys()
        read = {file: SourceText(file, text) for file in sorted(others) if (text := self._on_disk(file))}
        return {**self._texts, **read}

    def _is_named(self, file: str) -> bool:
        """Whether a `#line` directive names a file."""
        return any(file in source.named_files for source in self._texts.values())

    def _on_disk(self, file: str) -> str:
        """Return the text of an include, or of a file that a directive names; empty if it cannot be read."""
        folders = [Path(known).parent for known in self._texts] if self._is_named(file) else []
        for folder in [*folders, Path()]:
            if self._may_read(folder / file):
                try:
                    return read_text(folder / file, errors="replace")
                except (OSError, ValueError):
                    continue
        return ""

    def _may_read(self, file: Path | str) -> bool:
        return self._folder is None or is_inside(file, self._folder)

    def declaration(self, identifier: int) -> Line:
        """Return the line where a variable is declared, by a search for its name in the source.

        Compilers emit no line for a variable. The search begins at the function of a local variable, and at
        the first line for a global one. Comments are skipped.
        """
        name = self.names.get(identifier, "")
        start = self._owners.get(identifier, NOWHERE)
        if not name:
            return start
        for file in [start.file] if start.file in self._texts else list(self._texts):
            line = self._texts[file].find(name, start)
            if line.number:
                return line
        for source in self._includes if start is NOWHERE else ():
            line = source.find(name, start)
            if line.number:
                return line
        return start

    @cached_property
    def _includes(self) -> list[SourceText]:
        """The texts of includes on disk: files of instructions, not in the module nor named by `#line`."""
        named = {file for source in self._texts.values() for file in source.named_files}
        files = {line.file for line in self._lines if line.number} - self._texts.keys() - named
        texts = []
        for file in sorted(files):
            if not self._may_read(file):
                continue
            try:
                texts.append(SourceText(file, read_text(file, errors="replace")))
            except (OSError, ValueError):
                continue
        return texts

    @cached_property
    def names(self) -> dict[int, str]:
        """Names of ids from `OpName`."""
        return {
            entry.operands[0]: text_of(entry.operands[1:])
            for entry in self._module.instructions
            if entry.name == "OpName"
        }

    @cached_property
    def _owners(self) -> dict[int, Line]:
        """The line of the function of each local variable."""
        owners, current = {}, NOWHERE
        for entry in self._module.instructions:
            if entry.name == "OpFunction":
                current = self[entry.position]
            elif entry.name == "OpVariable" and current is not NOWHERE:
                owners[entry.result_id] = current
        return owners

    def _read(self) -> None:
        current = NOWHERE
        for entry in self._module.instructions:
            line = self._step(entry, current)
            if line is not current:
                self._positions.append(entry.position)
                self._lines.append(line)
                current = line

    def _step(self, entry: Instruction, current: Line) -> Line:
        """Read one instruction; return the line from it on."""
        words = entry.operands
        match entry.name:
            case "OpString":
                self._strings[entry.result_id] = text_of(words)
            case "OpSource" if len(words) > 2:
                self.sources[self._strings.get(words[2], "")] = text_of(words[3:]) if len(words) > 3 else ""
            case "OpSourceContinued" if self.sources:
                last = next(reversed(self.sources))
                self.sources[last] += text_of(words)
            case "OpExtInstImport":
                if text_of(words).startswith(_DEBUG_INFORMATION):
                    self._sets.add(entry.result_id)
            case "OpConstant":
                self._constants[entry.result_id] = words[0]
            case "OpLine":
                return Line(self._strings.get(words[0], ""), words[1], words[2])
            case "OpNoLine" | "OpFunctionEnd":
                return NOWHERE
            case "OpExtInst" if words[0] in self._sets:
                return self._debug(entry.result_id, words, current)
        return current

    def _debug(self, result: int, words: tuple[int, ...], current: Line) -> Line:
        """Read an instruction of NonSemantic.Shader.DebugInfo, whose operands are ids of constants."""
        if words[1] == _DEBUG_SOURCE:
            file = self._strings.get(words[2], "")
            self._files[result] = file
            if len(words) > 3:
                self.sources[file] = self._strings.get(words[3], "")
        elif words[1] == _DEBUG_LINE and len(words) > 3:
            column = self._constants.get(words[5], 0) if len(words) > 5 else 0
            return Line(self._files.get(words[2], ""), self._constants.get(words[3], 0), column)
        elif words[1] == _DEBUG_NO_LINE:
            return NOWHERE
        return current
