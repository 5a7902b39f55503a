"""Source lines of instructions: from `OpLine`, or from `DebugLine` of NonSemantic.Shader.DebugInfo."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from vkgroup.spirv.binary import Instruction, text_of
from vkgroup.spirv.reflection import Module

_DEBUG_INFORMATION = "NonSemantic.Shader.DebugInfo"
_DEBUG_SOURCE, _DEBUG_LINE, _DEBUG_NO_LINE = 35, 103, 104
"""Instructions of that set, by its specification's table."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a source file."""

    file: str  # as passed to the compiler; empty for an unknown line
    number: int  # counted from 1; 0 for an unknown line


NOWHERE = Line("", 0)


class LineTable:
    """Lines of a module's instructions (`NOWHERE` without debug information), and its source texts."""

    def __init__(self, module: Module) -> None:
        self._module = module
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

    def text(self, line: Line) -> str:
        """Return the text of a line; empty where the module does not have its source."""
        lines = self.sources.get(line.file, "").split("\n")
        return lines[line.number - 1].rstrip() if 0 < line.number <= len(lines) else ""

    def declaration(self, identifier: int) -> Line:
        """Return the line where a variable is declared, by a search for its name in the source.

        Compilers emit no line for a variable. The search begins at the function of a local variable, and at
        the first line for a global one. Comments are skipped.
        """
        name = self.names.get(identifier, "")
        start = self._owners.get(identifier, NOWHERE)
        sources = [start.file] if start.file in self.sources else list(self.sources)
        if not name:
            return start
        for file in sources:
            number = _find_word(self.sources[file], name, start.number)
            if number:
                return Line(file, number)
        return start

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
                return Line(self._strings.get(words[0], ""), words[1])
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
            return Line(self._files.get(words[2], ""), self._constants.get(words[3], 0))
        elif words[1] == _DEBUG_NO_LINE:
            return NOWHERE
        return current


def _find_word(source: str, name: str, first: int) -> int:
    """Return the first line from `first` on with a word outside of comments; 0 without one."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}\b")
    for number, text in _without_comments(source):
        if number >= first and not text.lstrip().startswith("#") and pattern.search(text):
            return number
    return 0


def _without_comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a source, numbered from 1, with comments blanked."""
    blank = re.sub(
        r"//[^\n]*|/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment[0]), source, flags=re.DOTALL
    )
    yield from enumerate(blank.split("\n"), 1)
