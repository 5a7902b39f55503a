"""Report of a check: findings with their source locations, coverage of the runs, and the report as text.

The text quotes and underlines the source line of each finding, as compilers do.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rich.text import Text

from vkgroup.check.host import SpecializationValue
from vkgroup.compiler import disassemble
from vkgroup.dispatch.results import FragmentInvocation, Invocation
from vkgroup.errors import InternalError, InvalidInput
from vkgroup.spirv import Instruction, Module
from vkgroup.spirv.lines import LineTable
from vkgroup.spirv.source_text import Line

if TYPE_CHECKING:
    from vkgroup.check.question import Question


class Kind(StrEnum):
    """Kind of a finding."""

    DIFFERS = "differs"
    UNDEFINED = "undefined"
    RACE = "race"
    BARRIER = "barrier"
    HANG = "hang"
    BOUNDS = "bounds"
    ASSUMES = "assumes"


@dataclass(frozen=True, slots=True)
class Place:
    """A location in the shader."""

    # `file`, `line`: source file and line; empty and 0 if the module has no line information
    file: str
    line: int
    text: str  # the source line; the instruction in assembly if there is no source
    position: int  # the instruction's `Instruction.position`; -1 for no instruction


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a finding, with or without a location of its own."""

    message: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """The parameters of one run of the shader."""

    subgroup_size: int  # lanes of a subgroup
    shuffled: bool = False  # whether invocations were assigned to lanes at random
    device: str = ""  # name of a real device and its driver; empty for the reference device
    choice: str = ""  # value of ``--device`` that selects this device
    required: bool = False  # whether the pipeline required this subgroup size

    def __str__(self) -> str:
        if self.device:
            return self.device + f" at size {self.subgroup_size}" * self.required
        return f"size {self.subgroup_size}" + ", lanes shuffled" * self.shuffled


class _Configured:
    """A result of several runs."""

    __slots__ = ()
    configurations: tuple[Configuration, ...]

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
    """

    kind: Kind
    message: str
    place: Place
    notes: tuple[Note, ...] = ()
    invocation: Invocation | None = None
    configurations: tuple[Configuration, ...] = ()
    values: tuple[tuple[Configuration, str], ...] = ()
    element: str = ""
    command: str = ""
    proved: bool = False

    def repeated_by(self, command: str) -> Finding:
        """Return the finding with the command that repeats it: `command`, with its sizes and devices."""
        sizes = {*self.sizes, *(where.subgroup_size for where, _ in self.values)}
        chosen = f" --subgroup-size {','.join(map(str, sorted(sizes)))}" if sizes else ""
        real = dict.fromkeys(where.choice for where in self.configurations if where.device)
        devices = "".join(f" --device {shlex.quote(choice)}" for choice in real) or " --device none"
        return dataclasses.replace(self, command=command + chosen + devices)


@dataclass(frozen=True)
class Coverage(_Configured):
    """Coverage of a check: completed runs, omitted runs, and compared numbers."""

    configurations: tuple[Configuration, ...]  # every completed run
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


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Attributes
    ----------
    shader : its file.
    findings : the findings in the order of their lines.
    covered : coverage of the runs.
    bindings, push : the inputs, in the form that `vkgroup.dispatch.Device.run` accepts.
    interrupted : the exception of Ctrl-C if it ended the check early; else None.
    no_verdict : what could not be compared because a run did not end.
    internal_errors : errors of vkgroup or the host while the shader ran on a device.
    questions : errors that occur only with some of the generated values.
    """

    shader: str
    findings: tuple[Finding, ...]
    covered: Coverage
    bindings: Mapping[tuple[int, int], Any] = field(default_factory=dict, compare=False, repr=False)
    push: bytes = b""
    interrupted: KeyboardInterrupt | None = None
    no_verdict: tuple[str, ...] = ()
    internal_errors: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()

    def require_verdict(self) -> None:
        """Raise the error of a check without a verdict.

        Raises
        ------
        InternalError
            vkgroup or the host failed.
        InvalidInput
            Nothing was found, and a run did not end.
        """
        if self.internal_errors:
            errors = "\n".join(self.internal_errors)
            raise InternalError(f"Internal error, which is no finding. Please report it.\n{errors}")
        if self.no_verdict and not self.findings:
            raise InvalidInput(
                f"{self.shader}: no verdict, because there is nothing to compare: "
                f"{'; '.join(self.no_verdict)}. If the shader ends, give more time (--timeout) "
                "or less work (--groups)."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data: objects, lists, strings and numbers."""
        return {
            "shader": self.shader,
            "findings": [finding.to_json() for finding in self.findings],
            "questions": [question.to_json() for question in self.questions],
            "covered": self.covered.to_json(),
            "no_verdict": list(self.no_verdict),
            "internal_errors": list(self.internal_errors),
        }


def join(numbers: Iterable[object]) -> str:
    """Return items as a list in words: ``"1, 4 and 8"``."""
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_INSTRUCTION = re.compile(r"^ *(?:%\S+ = )?Op[A-Z]")


class SourceLocations:
    """Source locations by instruction position; `name` is the file if the module does not name its source."""

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
        return Place(line.file or self._name, line.number, self.lines.text(line), position)


_COLOURS = {
    Kind.DIFFERS: "bold magenta",
    Kind.UNDEFINED: "bold red",
    Kind.RACE: "bold red",
    Kind.BARRIER: "bold red",
    Kind.HANG: "bold red",
    Kind.BOUNDS: "bold red",
    Kind.ASSUMES: "bold yellow",
}
_COMMENT = re.compile(r"\s*//.*$")


def lines_of(report: Report) -> Iterator[Text]:
    """Yield the lines of a report."""
    for finding in report.findings:
        yield from finding_lines(finding)
        yield Text()
    for question in report.questions:
        yield from _question_lines(question)
        yield Text()
    yield from _summary(report)


def finding_lines(finding: Finding) -> Iterator[Text]:
    """Yield the lines of one finding."""
    colour = _COLOURS[finding.kind]
    place = finding.place
    margin = max(
        [len(str(entry.line)) for entry in (place, *(note.place for note in finding.notes)) if entry],
        default=1,
    )
    yield Text.assemble((f"{finding.kind}", colour), (f": {finding.message}", "bold"))
    yield from _quote(place, "", margin, colour, "^")
    shown = place
    for note in finding.notes:
        if note.place is not None and not _is_same_line(note.place, place):
            yield from _quote(note.place, note.message, margin, "cyan", "-", shown)
            shown = note.place
    for text in _remarks(finding):
        yield Text.assemble((" " * margin + " = ", "blue"), text)


def _question_lines(question: Question) -> Iterator[Text]:
    """Yield the lines of a question: the question, the line of each error, and what to do."""
    yield Text.assemble(("question", "bold yellow"), (f": {question.text}", "bold"))
    places = {(finding.place.file, finding.place.line): finding for finding in question.findings}
    shown = None
    for finding in places.values():
        margin = len(str(finding.place.line))
        yield from _quote(finding.place, finding.kind, margin, "yellow", "^", shown)
        shown = finding.place
    yield Text.assemble((" " * margin + " = ", "blue"), question.remedy)


def _quote(
    place: Place, remark: str, margin: int, colour: str, mark: str, before: Place | None = None
) -> Iterator[Text]:
    """Yield a source line with its number, underlined, below its file if that differs from `before`."""
    where = f"{place.file}:{place.line}" if place.line else place.file
    if before is None or before.file != place.file:
        yield Text.assemble((" " * margin + "--> ", "blue"), where)
    code = place.text.expandtabs(4)
    if not code:
        if remark:
            yield Text.assemble((" " * margin + " = ", "blue"), remark)
        return
    number = str(place.line) if place.line else ""
    yield Text.assemble((f"{number:>{margin}} | ", "blue"), code)
    bare = _COMMENT.sub("", code) or code
    start = len(bare) - len(bare.lstrip())
    underline = " " * start + mark * max(1, len(bare.strip()))
    remark = f" {remark}" if remark else ""
    yield Text.assemble((" " * margin + " | ", "blue"), (underline + remark, colour))


def _is_same_line(one: Place, other: Place) -> bool:
    return (one.file, one.line) == (other.file, other.line) and (one.line > 0 or one.text == other.text)


def _remarks(finding: Finding) -> Iterator[str]:
    for note in finding.notes:
        if note.place is None or _is_same_line(note.place, finding.place):
            yield note.message
    if finding.configurations:
        yield f"seen at {_where(finding.configurations)}"
    if finding.invocation is not None:
        where = f" (at {finding.configurations[0]})" if finding.configurations else ""
        yield f"for example {describe(finding.invocation)}{where}"
    if finding.command:
        yield f"repeat: {finding.command}"


def describe(who: Invocation) -> str:
    """Return an invocation's workgroup, local id, subgroup and lane in words."""
    if isinstance(who, FragmentInvocation):
        helper = ", a helper invocation" * who.is_helper
        return f"pixel ({who.x}, {who.y}){helper}: lane {who.lane} of subgroup {who.subgroup}"
    return (
        f"invocation {_numbers(who.local)} of workgroup {_numbers(who.workgroup)}:"
        f" lane {who.lane} of subgroup {who.subgroup}"
    )


def _numbers(three: tuple[int, int, int]) -> str:
    return f"({', '.join(map(str, three))})"


def _where(configurations: Iterable[Configuration]) -> str:
    """Return configurations in words: sizes with lanes in order, sizes with shuffled lanes, devices."""
    runs = list(configurations)
    linear = sorted({run.subgroup_size for run in runs if not run.device and not run.shuffled})
    shuffled = sorted({run.subgroup_size for run in runs if not run.device and run.shuffled})
    parts = []
    if linear:
        how = ", lanes in order or shuffled" if linear == shuffled else ""
        parts.append(f"subgroup size {join(linear)}{how}")
    if shuffled and linear != shuffled:
        parts.append(f"subgroup size {join(shuffled)} with shuffled lanes")
    for device in dict.fromkeys(run.device for run in runs if run.device):
        sizes = [run.subgroup_size for run in runs if run.device == device and run.required]
        parts.append(f"{device}, also at size {join(sizes)}" if sizes else device)
    return "; ".join(parts)


def _summary(report: Report) -> Iterator[Text]:
    covered = report.covered
    count = len(report.findings)
    asked = f"{len(report.questions)} question{'s' * (len(report.questions) != 1)}"
    if count:
        more = f", {asked}" * bool(report.questions)
        yield Text(f"{report.shader}: {count} finding{'s' * (count != 1)}{more}", style="bold red")
    elif report.no_verdict or report.internal_errors:
        yield Text(f"{report.shader}: no verdict", style="bold yellow")
    elif report.questions:
        yield Text(f"{report.shader}: {asked}", style="bold yellow")
    else:
        yield Text(f"{report.shader}: nothing found", style="bold green")
    if covered.configurations:
        yield Text(f"  ran at {_where(covered.configurations)}")
    if covered.compiler:
        yield Text(f"  compiled by {covered.compiler}")
    reasons: dict[str, list[str]] = {}
    for what, why in covered.not_covered:
        reasons.setdefault(why, []).append(what)
    for why, whats in reasons.items():
        yield Text(f"  not covered: {'; '.join(whats)}: {why}", style="yellow")
    workgroups = f"{_numbers(covered.groups)} workgroups of {_numbers(covered.local_size)}"
    yield Text(f"  {covered.drawn or workgroups}; {_compared(covered)}")
    for origin in covered.inputs:
        yield Text(f"  {origin}")
    if covered.specialization:
        yield Text(f"  specialization constants: {', '.join(map(str, covered.specialization))}")
    for guarantee in covered.assumed:
        yield Text(f"  assumed: {guarantee}")
    for note in covered.notes:
        yield Text(f"  note: {note}", style="yellow")


def _compared(covered: Coverage) -> str:
    numbers = "number" if covered.compared == 1 else "numbers"
    parts = [f"{covered.compared} {numbers} of the outputs compared"]
    if covered.rounded:
        parts.append(f"{covered.rounded} of them equal within rounding")
    if covered.ordered:
        reason = "they depend on the order of atomics" + " or a device may choose them" * bool(covered.drawn)
        parts.append(f"{covered.ordered} not compared because {reason}")
    if covered.undefined:
        parts.append(f"{covered.undefined} not compared because they are undefined")
    return ", ".join(parts)
