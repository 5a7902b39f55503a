"""Text of a report: the source line of each finding, quoted and underlined as compilers do, and a summary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rich.text import Text

from vkgroup.check.findings import (
    AllowedFinding,
    Coverage,
    Finding,
    FindingKind,
    RunParameters,
    SourceLocation,
    join,
)
from vkgroup.check.report import BarrierResult, BarrierVerdict, Question, Report
from vkgroup.reference.events import FragmentInvocation, Invocation

_COMMENT = re.compile(r"\s*//.*$")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPERATOR = re.compile(r"[-+*/%&|^<>=!~?:]+|.")

_COLOURS = {
    FindingKind.DIFFERS: "bold magenta",
    FindingKind.SAME_VALUE: "bold yellow",
    FindingKind.ASSUMES: "bold yellow",
    FindingKind.RECONVERGENCE: "bold yellow",
}
"""Colours of kinds of findings; the others are red."""
_AS_IT_IS = (BarrierVerdict.NEEDED, BarrierVerdict.SMALLER)
"""Results of barriers that stay."""
_TAB = 4
"""Columns between two tab stops of quoted lines."""


def underlined(text: str, column: int) -> tuple[int, int]:
    """Return start and end of the part of a line to underline, as indices.

    `column`: the first character of the part, counted from 1; 0 if only the line is known.

    A column at the start of a statement stands for the statement. Another one stands for the expression that
    starts there: a name with its members, indices and arguments, or an operator. Without a column the part is
    the line, without indentation and comment. So it is for a line with other characters than ASCII, since
    compilers count bytes.
    """
    bare = _COMMENT.sub("", text) or text
    first = len(bare) - len(bare.lstrip())
    start = column - 1
    is_known = first <= start < len(bare) and text.isascii() and bare[start] not in " \t{}"
    if not is_known:
        return first, len(bare.rstrip())
    if start == first:
        end = bare.find(";", start)
        return start, end + 1 if end >= 0 else len(bare.rstrip())
    name = _NAME.match(bare, start)
    if name is not None:
        return start, _end_of_expression(bare, name.end())
    operator = _OPERATOR.match(bare, start)
    return start, operator.end() if operator is not None else start + 1


def _end_of_expression(text: str, end: int) -> int:
    """Return the end of the members, indices and arguments that follow a name."""
    while end < len(text):
        if text[end] in "([":
            depths = accumulate((letter in "([") - (letter in ")]") for letter in text[end:])
            closed = next((number for number, depth in enumerate(depths, 1) if not depth), 0)
            if not closed:  # the brackets close on another line
                return end
            end += closed
        elif (member := re.compile(r"\.\w+").match(text, end)) is not None:
            end = member.end()
        else:
            return end
    return end


def lines_of(report: Report) -> Iterator[Text]:
    """Yield the lines of a report."""
    for finding in report.findings:
        yield from finding_lines(finding)
        yield Text()
    for question in report.questions:
        yield from _question_lines(question)
        yield Text()
    for result in report.barriers:
        yield from _barrier_lines(result)
        yield Text()
    for entry in report.allowed:
        yield from _allowed_lines(entry)
    yield from _summary(report)


def finding_lines(finding: Finding, *, with_help: bool = True) -> Iterator[Text]:
    """Yield the lines of one finding; the help is of checks, not of comparisons of two shaders."""
    colour = _COLOURS.get(finding.kind, "bold red")
    place = finding.place
    margin = max(
        [len(str(entry.line)) for entry in (place, *(note.place for note in finding.notes)) if entry],
        default=1,
    )
    yield Text.assemble((f"{finding.kind}", colour), (f": {finding.message}", "bold"))
    yield from _quote(place, "", margin, colour, "^")
    shown = place
    for note in finding.notes:
        if note.place is not None and note.place.identity != place.identity:
            yield from _quote(note.place, note.message, margin, "cyan", "-", shown)
            shown = note.place
    for text in _remarks(finding, with_help):
        yield Text.assemble((" " * margin + " = ", "blue"), text)


def _allowed_lines(entry: AllowedFinding) -> Iterator[Text]:
    """Yield the line of a finding that a comment allows."""
    place = entry.finding.place
    text = f": {entry.finding.kind} at {place.file}:{place.line}: {entry.allowance.reason}"
    yield Text.assemble(("allowed", "bold green"), text)


def _question_lines(question: Question) -> Iterator[Text]:
    """Yield the lines of a question: the question, the line of each error, and what to do."""
    yield Text.assemble(("question", "bold yellow"), (f": {question.text}", "bold"))
    by_place: dict[tuple[object, ...], list[Finding]] = {}
    for finding in question.findings:
        by_place.setdefault(finding.place.identity, []).append(finding)
    shown = None
    for findings in by_place.values():
        place = findings[0].place
        margin = len(str(place.line))
        kinds = join(dict.fromkeys(finding.kind for finding in findings))
        yield from _quote(place, kinds, margin, "yellow", "^", shown)
        shown = place
    seen = f"seen at {_where(question.configurations)}"
    seen += ", the only size at which these values ran" * question.tried
    for remark in (seen, question.remedy):
        yield Text.assemble((" " * margin + " = ", "blue"), remark)


def _barrier_lines(result: BarrierResult) -> Iterator[Text]:
    """Yield the lines of the result of one barrier or atomic."""
    margin = len(str(result.place.line))
    colour = "bold green" if result.verdict in _AS_IT_IS else "bold yellow"
    yield Text.assemble((result.name, colour), (f": {result.text}", "bold"))
    yield from _quote(result.place, "", margin, colour, "^")
    if result.error:
        change = "if it were weaker" if result.name == "atomic" else "without it"
        for remark in (f"{change}: {result.error}", f"at subgroup size {join(result.sizes)}"):
            yield Text.assemble((" " * margin + " = ", "blue"), remark)


def _quote(
    place: SourceLocation,
    remark: str,
    margin: int,
    colour: str,
    mark: str,
    before: SourceLocation | None = None,
) -> Iterator[Text]:
    """Yield a source line with its number, underlined, below its file if that differs from `before`."""
    where = f"{place.file}:{place.line}" if place.line else place.file
    if before is None or before.file != place.file:
        yield Text.assemble((" " * margin + "--> ", "blue"), where)
    code = place.text.expandtabs(_TAB)
    if not code:
        if remark:
            yield Text.assemble((" " * margin + " = ", "blue"), remark)
        return
    number = str(place.line) if place.line else ""
    yield Text.assemble((f"{number:>{margin}} | ", "blue"), code)
    start, end = (len(place.text[:index].expandtabs(_TAB)) for index in underlined(place.text, place.column))
    underline = " " * start + mark * max(1, end - start)
    remark = f" {remark}" if remark else ""
    yield Text.assemble((" " * margin + " | ", "blue"), (underline + remark, colour))


def _remarks(finding: Finding, with_help: bool) -> Iterator[str]:
    for note in finding.notes:
        is_here = note.place is None or note.place.identity == finding.place.identity
        if is_here:
            yield note.message
    if finding.configurations:
        yield f"seen at {_where(finding.configurations)}"
    if finding.invocation is not None:
        where = f" (at {finding.configurations[0]})" if finding.configurations else ""
        yield f"for example {describe(finding.invocation)}{where}"
    if with_help:
        yield f"help: {finding.help} (vkgroup explain {finding.kind})"
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


def _where(configurations: Iterable[RunParameters]) -> str:
    """Return configurations in words: sizes with lanes in order, sizes with shuffled lanes, devices."""
    runs = [run for run in configurations if not run.model]
    others = [run for run in configurations if run.model]
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
    return "; ".join([*parts, *map(str, others)])


def _summary(report: Report) -> Iterator[Text]:
    covered = report.covered
    counts = [count_of(report.findings)] if report.findings else []
    allowed = f", {len(report.allowed)} allowed" if report.allowed else ""
    if report.questions:
        counts.append(f"{len(report.questions)} question{'s' * (len(report.questions) != 1)}")
    if report.findings:
        style = "bold red" if report.fails() else "bold yellow"
        yield Text(f"{report.shader}: {', '.join(counts)}{allowed}", style=style)
    elif report.no_verdict or report.internal_errors:
        yield Text(f"{report.shader}: no verdict", style="bold yellow")
    elif report.questions:
        yield Text(f"{report.shader}: {counts[0]}", style="bold yellow")
    elif report.gaps:
        gaps = "; ".join(report.gaps)
        yield Text(f"{report.shader}: nothing found in what ran; {gaps}", style="bold yellow")
    else:
        yield Text(f"{report.shader}: nothing found{allowed}", style="bold green")
    if covered.configurations:
        yield Text(f"  ran at {_where(covered.configurations)}")
    if by_size := _by_size(report):
        yield Text(f"  {by_size}", style="bold")
    if report.barriers:
        yield Text(f"  barriers and atomics: {_counts_of_barriers(report.barriers)}")
    if report.gaps and (report.findings or report.questions):
        yield Text(f"  {'; '.join(report.gaps)}", style="yellow")
    if covered.compiler:
        yield Text(f"  compiled by {covered.compiler}")
    for line in report.compilations:
        yield Text(f"  {line}")
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


def _counts_of_barriers(results: Sequence[BarrierResult]) -> str:
    counts = Counter(result.verdict for result in results)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in BarrierVerdict if counts[verdict])


_BY_COMPARISON = (FindingKind.DIFFERS, FindingKind.ASSUMES)
"""Kinds of findings that say that runs differ, and not which of them is right."""


def _by_size(report: Report) -> str:
    """Return at which sizes the shader is right, and at which it is wrong; empty if that is not known.

    A difference does not show which side is right, unless an assumed size is proved.
    """
    strong = [finding for finding in report.findings if not finding.weak]
    if any(finding.kind in _BY_COMPARISON and not finding.proved for finding in strong):
        return ""
    every, wrong, in_order = set(report.covered.sizes), set[int](), set[int]()
    for run in (run for finding in strong for run in finding.configurations):
        if not run.device and not run.model:
            (wrong if run.shuffled else in_order).add(run.subgroup_size)
    asked = (finding.sizes for question in report.questions for finding in question.findings)
    right = every - wrong - in_order - set().union(*asked)
    shuffled = every & wrong - in_order
    if not right | shuffled or not wrong | in_order:
        return ""
    parts = (("right", right), ("right only with lanes in order", shuffled), ("wrong", every & in_order))
    return "; ".join(f"{verdict} at size {join(sorted(sizes))}" for verdict, sizes in parts if sizes)


def count_of(findings: Sequence[Finding]) -> str:
    """Return the number of findings in words: ``"2 findings and 1 weak finding"``."""
    weak = sum(finding.weak for finding in findings)
    counts = ((len(findings) - weak, "finding"), (weak, "weak finding"))
    parts = [f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts if count]
    return " and ".join(parts) or "nothing found"


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
