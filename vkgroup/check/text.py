"""Text form of a report: each finding with its source line quoted and underlined, as in compilers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.text import Text

from vkgroup.check.findings import Configuration, Coverage, Finding, Kind, Place, Report, join
from vkgroup.reference.interpreter import Invocation

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
    if count:
        yield Text(f"{report.shader}: {count} finding{'s' * (count != 1)}", style="bold red")
    else:
        yield Text(f"{report.shader}: nothing found", style="bold green")
    if covered.configurations:
        yield Text(f"  ran at {_where(covered.configurations)}")
    reasons: dict[str, list[str]] = {}
    for what, why in covered.not_covered:
        reasons.setdefault(why, []).append(what)
    for why, whats in reasons.items():
        yield Text(f"  not covered: {'; '.join(whats)}: {why}", style="yellow")
    yield Text(
        f"  {_numbers(covered.groups)} workgroups of {_numbers(covered.local_size)}; {_compared(covered)}"
    )
    for origin in covered.inputs:
        yield Text(f"  {origin}")


def _compared(covered: Coverage) -> str:
    numbers = "number" if covered.compared == 1 else "numbers"
    parts = [f"{covered.compared} {numbers} of the outputs compared"]
    if covered.rounded:
        parts.append(f"{covered.rounded} of them equal within rounding")
    if covered.ordered:
        parts.append(f"{covered.ordered} not compared because they depend on the order of atomics")
    if covered.undefined:
        parts.append(f"{covered.undefined} not compared because they are undefined")
    return ", ".join(parts)
