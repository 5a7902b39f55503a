"""Findings of a check with their source locations, and the coverage of its runs."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from vkgroup.base.files import kinds, read_text
from vkgroup.check.inputs import SpecializationValue
from vkgroup.compiler import disassemble
from vkgroup.reference.events import Invocation
from vkgroup.spirv import Instruction, Module
from vkgroup.spirv.lines import LineTable


class FindingKind(StrEnum):
    """Kind of a finding."""

    DIFFERS = "differs"
    UNDEFINED = "undefined"
    RACE = "race"
    SAME_VALUE = "same_value"
    BARRIER = "barrier"
    HANG = "hang"
    BOUNDS = "bounds"
    ABORT = "abort"
    ASSUMES = "assumes"
    SPARSE = "sparse"
    RECONVERGENCE = "reconvergence"
    PROGRESS = "progress"
    COMPILE = "compile"

    @property
    def page(self) -> str:
        """What it is, its rule, a wrong and a right shader, and the remedy, as Markdown."""
        return _page_of(self.value)

    @property
    def headline(self) -> str:
        """What it is, in one line."""
        return self.page.partition("\n")[0].removeprefix(f"# {self}: ")

    @property
    def help(self) -> str:
        """The remedy: the first sentence of the last paragraph, without a point."""
        return " ".join(self.page.rpartition("\nHelp: ")[2].split()).partition(". ")[0].rstrip(".")

    @property
    def weak(self) -> bool:
        """Whether findings of this kind alone leave the exit code at 0, unless the check is strict."""
        return self in _WEAK_KINDS


@cache
def _page_of(kind: str) -> str:
    return read_text(kinds() / f"{kind}.md")


RACES = (FindingKind.RACE, FindingKind.SAME_VALUE)
"""Kinds of data races: findings with two accesses."""

DISTURBING = (
    *(FindingKind.UNDEFINED, FindingKind.RACE, FindingKind.BARRIER, FindingKind.HANG, FindingKind.BOUNDS),
    FindingKind.ABORT,
)
"""Kinds of errors that make the outputs of a run meaningless, so that they are not compared."""

COMPARED = (
    *(FindingKind.DIFFERS, FindingKind.ASSUMES, FindingKind.SPARSE, FindingKind.RECONVERGENCE),
    FindingKind.PROGRESS,
)
"""Kinds of findings that are looked for only in runs without such errors."""

_MAX_LINES = 3
"""Maximum number of further lines that a finding quotes."""

_MAX_RANGES = 12
"""Maximum number of ranges of line numbers in a note."""

_WEAK_KINDS = (FindingKind.SAME_VALUE, FindingKind.RECONVERGENCE)
"""Kinds of findings for which every order of the accesses, or most drivers, give the intended result."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A location in the shader."""

    # `file`, `line`: source file and line; empty and 0 if the module has no line information
    file: str
    line: int
    text: str  # the source line; the instruction in assembly if there is no source
    position: int  # the instruction's `Instruction.position`; -1 for no instruction
    column: int = 0  # the column in `text`, counted from 1; 0 if the module does not contain it

    @property
    def identity(self) -> tuple[object, ...]:
        """Its line, or its instruction if there are no lines."""
        return (self.file, self.line, 0 if self.line else self.position)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a finding, with or without a location of its own."""

    message: str
    place: SourceLocation | None = None


_MODELS = {
    "sparse=half": "half of the lanes of each subgroup filled",
    "sparse=quarter": "a quarter of the lanes of each subgroup filled",
    "sparse=seeded": "some lanes of each subgroup filled",
    "reconvergence=declared": "reconvergence only where it is declared",
    "progress=occupancy": "workgroups one after another",
    "progress=one": "a workgroup that stops",
    "unit=subgroup": "subgroup by subgroup",
}
"""Choices of the execution model in words."""


@dataclass(frozen=True, slots=True)
class RunParameters:
    """The parameters of one run of the shader."""

    subgroup_size: int  # lanes of a subgroup
    shuffled: bool = False  # whether invocations were assigned to lanes at random
    device: str = ""  # name of a real device and its driver; empty for the reference device
    choice: str = ""  # value of ``--device`` that selects this device
    required: bool = False  # whether the pipeline required this subgroup size
    options: tuple[str, ...] = ()  # the options that set generated values of further runs, such as --push n=1
    model: tuple[str, ...] = ()  # choices of the execution model, as in `ExecutionModel.of`

    def __str__(self) -> str:
        if self.device:
            return self.device + f" at size {self.subgroup_size}" * self.required
        given = f" with {' '.join(self.options)}" if self.options else ""
        chosen = f", {self.model_text}" if self.model else ""
        return f"size {self.subgroup_size}" + ", lanes shuffled" * self.shuffled + chosen + given

    @property
    def model_text(self) -> str:
        """The choices of the execution model in words."""
        return ", ".join(_MODELS[word] for word in self.model if word in _MODELS)


class _Configured:
    """A result of several runs."""

    __slots__ = ()
    configurations: tuple[RunParameters, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The subgroup sizes of the reference device."""
        return tuple(sorted({where.subgroup_size for where in self.configurations if not where.device}))

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the real devices."""
        return tuple(dict.fromkeys(where.device for where in self.configurations if where.device))

    def to_json(self) -> dict[str, Any]:
        """Return the fields, sizes and devices as JSON data."""
        fields = dataclasses.asdict(self)  # type: ignore[call-overload]
        return {**fields, "sizes": list(self.sizes), "devices": list(self.devices)}


@dataclass(frozen=True, slots=True)
class Finding(_Configured):
    """One error in the shader, or one dependence on the device or the subgroup size.

    Attributes
    ----------
    kind, message : kind of the error, and its description in one sentence.
    place : location of the error.
    notes : further locations and facts.
    invocation : an invocation in which the error occurred.
    configurations : runs in which the error occurred.
    values : for a difference, values of the first differing element by configuration.
    element : name of that element, for example ``"sums[3]"``.
    command : a command that repeats the finding.
    proved : for an assumption, whether an experiment has proved it.
    further : the other locations of the same error.
    remedy : the remedy, if it is another than that of the kind.
    """

    kind: FindingKind
    message: str
    place: SourceLocation
    notes: tuple[Note, ...] = ()
    invocation: Invocation | None = None
    configurations: tuple[RunParameters, ...] = ()
    values: tuple[tuple[RunParameters, str], ...] = ()
    element: str = ""
    command: str = ""
    proved: bool = False
    further: tuple[SourceLocation, ...] = ()
    remedy: str = ""

    @property
    def weak(self) -> bool:
        """Whether the finding alone leaves the exit code at 0, unless the check is strict."""
        return self.kind.weak

    @property
    def help(self) -> str:
        """The remedy: its own, or that of the kind."""
        return self.remedy or self.kind.help

    def to_json(self) -> dict[str, Any]:
        """Return the fields, sizes and devices as JSON data."""
        fields = {**_Configured.to_json(self), "weak": self.weak, "help": self.help}
        del fields["remedy"]
        return fields

    def repeated_by(self, command: str) -> Finding:
        """Return the finding with the command that repeats it: `command`, with its sizes and devices."""
        sizes = {*self.sizes, *(where.subgroup_size for where, _ in self.values)}
        chosen = f" --subgroup-size {','.join(map(str, sorted(sizes)))}" if sizes else ""
        real = dict.fromkeys(where.choice for where in self.configurations if where.device)
        devices = "".join(f" --device {shlex.quote(choice)}" for choice in real) or " --device none"
        inputs = "".join(f" {option}" for option in self.configurations[0].options)
        return dataclasses.replace(self, command=command + inputs + chosen + devices)


@dataclass(frozen=True, slots=True)
class Allowance:
    """One kind of finding that is allowed in one line.

    Attributes
    ----------
    kind, reason : the kind, and why it is intended.
    file : the file of the line; empty for every file.
    line : its number, or its text without indentation (of a module without lines, an instruction in
        assembly); 0 for a comment after which no line follows.
    origin : where the allowance is written: file and line of the comment, or a file.
    """

    kind: FindingKind
    reason: str
    file: str
    line: int | str
    origin: str

    def covers(self, kind: FindingKind, place: SourceLocation) -> bool:
        """Return whether a finding of a kind at a place is allowed."""
        line = place.line if isinstance(self.line, int) else place.text.strip()
        return kind == self.kind and bool(line) and line == self.line and self.names(place.file)

    def names(self, file: str) -> bool:
        """Return whether a file is that of the line."""
        return self.file in ("", file) or Path(self.file).resolve() == Path(file).resolve()

    def __str__(self) -> str:
        is_comment = self.origin.startswith(f"{self.file}:")
        where = "" if is_comment else f" in line {self.line!r} of {self.file or 'any file'}"
        return f"{self.origin}: allow({self.kind}){where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class AllowedFinding:
    """A finding and what allows it."""

    allowance: Allowance
    finding: Finding

    def to_json(self) -> dict[str, Any]:
        """Return both as JSON data."""
        return {"allowance": dataclasses.asdict(self.allowance), "finding": self.finding.to_json()}


@dataclass(frozen=True)
class Coverage(_Configured):
    """Coverage of a check: completed runs, omitted runs, and compared numbers."""

    configurations: tuple[RunParameters, ...]  # every completed run
    not_covered: tuple[tuple[str, str], ...]  # requested runs that did not take place, each with the reason
    compared: int  # count of compared output elements
    undefined: int  # count of elements that were not compared because they are undefined
    ordered: int  # count of elements that were not compared because they depend on the order of atomics
    rounded: int  # count of elements that are equal within rounding
    # `groups`, `local_size`: workgroup counts, and workgroup size
    groups: tuple[int, int, int]
    local_size: tuple[int, int, int]
    inputs: tuple[str, ...]  # descriptions of the bound inputs
    specialization: tuple[SpecializationValue, ...]  # one entry for each specialization id, by id
    notes: tuple[str, ...]  # remarks on the given options and on values that the tool chose
    assumed: tuple[str, ...]  # guarantees of the host, which restricted the runs
    compiler: str = ""  # the compiler of the shader, with its version; empty if it was a module
    drawn: str = ""  # what was drawn with a fragment shader; empty for a dispatch
    #: Lines with stores, barriers, atomics and subgroup operations that can be reached and were not executed.
    not_executed: tuple[str, ...] = ()


def notes_of_lines(message: str, further: Sequence[SourceLocation]) -> list[Note]:
    """Return notes on the further lines of a finding; those beyond `_MAX_LINES` are only numbered."""
    notes = [Note(message, place) for place in further[:_MAX_LINES]]
    rest = further[_MAX_LINES:]
    if not rest:
        return notes
    lines = [place.line for place in rest if place.line]
    numbers = f": {ranges(lines)}" if len(lines) == len(rest) else ""
    return [*notes, Note(f"and in {len(rest)} more line{'s' * (len(rest) != 1)}{numbers}")]


def ranges(lines: Iterable[int]) -> str:
    """Return line numbers as a list with ranges: ``"5, 7 to 9"``."""
    ranges: list[list[int]] = []
    for line in sorted(lines):
        if ranges and line <= ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    parts = [str(first) if first == last else f"{first} to {last}" for first, last in ranges]
    return ", ".join(parts[:_MAX_RANGES]) + ", …" * (len(parts) > _MAX_RANGES)


def join(numbers: Iterable[object]) -> str:
    """Return items as a list in words: ``"1, 4 and 8"``."""
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_INSTRUCTION = re.compile(r"^ *(?:%\S+ = )?Op[A-Z]")


class SourceLocations:
    """Source locations by instruction position.

    `name`: the file if the module does not name its source. `sources`: as for `LineTable`.
    """

    def __init__(self, module: Module, name: str, sources: Path | None = None) -> None:
        self._module, self._name = module, name
        self.lines = LineTable(module, sources)

    @cached_property
    def by_position(self) -> dict[int, Instruction]:
        """Every instruction by its position."""
        return {entry.position: entry for entry in self._module.instructions}

    @cached_property
    def assembly(self) -> dict[int, str]:
        """The assembly of every instruction by position; of a multi-line string, the first line only."""
        lines = [line.strip() for line in disassemble(self._module).split("\n") if _INSTRUCTION.match(line)]
        return dict(zip(self.by_position, lines, strict=False))

    def __getitem__(self, position: int) -> SourceLocation:
        """Return the location of an instruction; for a variable, of its declaration."""
        entry = self.by_position.get(position)
        if entry is None:
            return SourceLocation(self._name, 0, "", -1)
        is_variable = entry.name == "OpVariable"
        line = self.lines.declaration(entry.result_id) if is_variable else self.lines[position]
        if not line.number:
            return SourceLocation(self._name, 0, self.assembly.get(position, ""), position)
        return SourceLocation(
            line.file or self._name, line.number, self.lines.text(line), position, line.column
        )
