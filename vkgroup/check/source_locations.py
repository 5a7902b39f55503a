"""Source locations of a module's instructions."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from vkgroup.check.findings import Place
from vkgroup.compiler import disassemble
from vkgroup.spirv import Instruction, Module
from vkgroup.spirv.lines import Line, LineTable

_INSTRUCTION = re.compile(r"^ *(?:%\S+ = )?Op[A-Z]")


class SourceLocations:
    """Source locations by instruction position.

    Parameters
    ----------
    module : the executed module.
    name : the shader's file, used if the module does not name its source.
    """

    def __init__(self, module: Module, name: str) -> None:
        self._module, self._name = module, name
        self.lines = LineTable(module)

    @cached_property
    def by_position(self) -> dict[int, Instruction]:
        """Every instruction by its position."""
        return {entry.position: entry for entry in self._module.instructions}

    @cached_property
    def _assembly(self) -> dict[int, str]:
        """The assembly of every instruction by position; of a multi-line string, the first line only."""
        lines = [line.strip() for line in disassemble(self._module).split("\n") if _INSTRUCTION.match(line)]
        return dict(zip(self.by_position, lines, strict=False))

    def __getitem__(self, position: int) -> Place:
        """Return the location of an instruction; for a variable, of its declaration."""
        entry = self.by_position.get(position)
        if entry is None:
            return Place(self._name, 0, "", -1)
        if entry.name == "OpVariable":
            return self._of(self.lines.declaration(entry.result_id), position)
        return self._of(self.lines[position], position)

    def _of(self, line: Line, position: int) -> Place:
        if not line.number:
            return Place(self._name, 0, self._assembly.get(position, ""), position)
        text = self.lines.text(line) or _line_of(line.file, line.number)
        return Place(line.file or self._name, line.number, text, position)


def _line_of(file: str, number: int) -> str:
    """Return a line of a file whose text is not in the module, such as an include; empty if unreadable."""
    try:
        lines = Path(file).read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return lines[number - 1] if number <= len(lines) else ""
